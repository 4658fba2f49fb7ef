import { Piscina } from 'piscina'
import type { MessagePort, Worker } from 'node:worker_threads'
import { endThread, isObject } from '../../../kernel/index.ts'
import type { Service, ThreadData } from '../shared/protocol.ts'

export interface WorkerOptions {
  /** The module that runs in the worker. */
  entry: URL
  data: ThreadData
  /** Hard limit of the heap, in MiB. */
  heap_mib: number
  env: Record<string, string>
  /** The worker's end of the port over which it serves. */
  port: MessagePort
  /** An error ended the worker. */
  failed (error: unknown): void
  /** The worker sent something to Piscina, or to the server over Piscina's port. */
  refuse (reason: string): void
}

/**
 * Starts a worker in a Piscina pool of its own, with a single task: to serve over a port. Piscina believes the answers
 * of a worker, and a `null` on its port would throw on the main thread. A worker gives Piscina no answer as long as it
 * serves, so a tool sent whatever comes there.
 */
export function startWorker (options: WorkerOptions): { worker: Worker, end: () => Promise<unknown> } {
  const { failed, refuse } = options
  const piscina = new Piscina({
    filename: options.entry.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Infinity,
    atomics: 'disabled', // the thread's event loop goes on between runs
    recordTiming: false,
    argv: [],
    execArgv: [],
    env: options.env,
    resourceLimits: { maxOldGenerationSizeMb: options.heap_mib },
    workerData: options.data
  })
  piscina.on('error', failed)
  piscina.on('message', () => { refuse('a message to parentPort, which is the server\'s') })
  piscina.on('workerCreate', worker => { guard(worker, refuse) }) // before the worker has any task
  const task: Service = { port: options.port }
  piscina.run(task, { transferList: [options.port] }).catch(() => {}) // the worker's exit says that it has ended
  const worker = firstOf(piscina.threads)
  worker.on('error', failed)
  worker.on('messageerror', () => { refuse('a message to parentPort that can\'t be read') })
  return { worker, end: () => Promise.all([piscina.destroy(), endThread(worker)]) }
}

/** Makes Piscina ignore all answers of a worker. Piscina keeps its own data about a worker behind a symbol. */
function guard (worker: object, refuse: (reason: string) => void): void {
  const [symbol] = Object.getOwnPropertySymbols(worker)
  const piscinaData: unknown = symbol === undefined ? undefined : Reflect.get(worker, symbol)
  if (!isObject(piscinaData) || typeof piscinaData['onMessage'] !== 'function') {
    throw new Error('this version of Piscina is not known')
  }
  piscinaData['onMessage'] = () => { refuse('an answer to Piscina, which is the server\'s') }
  // Once the worker has its task, which would keep the process alive.
  queueMicrotask(() => { if (isUnreferable(piscinaData['port'])) piscinaData['port'].unref() })
}

function firstOf (workers: readonly Worker[]): Worker {
  const [worker] = workers
  if (worker === undefined) throw new Error('Piscina started no thread')
  return worker
}

function isUnreferable (value: unknown): value is { unref (): void } {
  return typeof value === 'object' && value !== null && 'unref' in value && typeof value.unref === 'function'
}
