import { Worker } from 'node:worker_threads'
import { endThread, messageOf, within, type Logger } from '../../../kernel/index.ts'
import { environmentForThread } from '../../toolkit/environment.ts'
import type { ThreadData, ToThread } from './protocol.ts'

/** The time in which a thread can end by itself, in milliseconds. */
const end_ms = 5_000

export interface ModelThreadEvents {
  /** Called with each message of the thread, which is not checked yet. */
  said (worker: Worker, message: unknown): void
  /** Called when the thread has ended. */
  ended (worker: Worker, cause: string): void
}

/** Starts the thread of the model. @param entry the module that runs in it */
export function startThread (entry: URL, data: ThreadData, log: Logger, { said, ended }: ModelThreadEvents): Worker {
  const { model, models_dir, allow_download, threads } = data
  const worker = new Worker(entry, {
    workerData: { model, models_dir, allow_download, threads } satisfies ThreadData,
    env: environmentForThread(),
    execArgv: [], // the process's own options, such as those of a debugger, are not for this thread
    stdout: true, // libraries must not print to the standard output of the program
    stderr: true
  })
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log.debug({ text: chunk.toString('utf8', 0, 2000) }, 'the model\'s thread printed something')
    })
  }
  let cause: string | undefined
  worker.on('message', message => { said(worker, message) })
  worker.on('error', (error: unknown) => { cause = messageOf(error) })
  worker.on('exit', code => { ended(worker, cause ?? `it ended with code ${code}`) })
  return worker
}

export function postTo (worker: Worker, message: ToThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(message)
}

/** Lets a thread finish its current work and end; terminates it when that takes too long. */
export async function finishThread (worker: Worker): Promise<void> {
  const ended = new Promise<void>(resolve => { worker.once('exit', () => { resolve() }) })
  postTo(worker, { type: 'end' })
  await within(end_ms, ended)
  await endThread(worker) // without effect when the thread has ended
}
