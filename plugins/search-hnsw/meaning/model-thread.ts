import { Worker } from 'node:worker_threads'
import { endThread, messageOf, within, type Logger } from '../../../kernel/index.ts'
import { environmentForThread } from '../../toolkit/environment.ts'
import type { ThreadData, ToThread } from './protocol.ts'

/** How long a thread may take to end by itself, in milliseconds. */
const end_ms = 5_000

export interface ModelThreadEvents {
  /** A message, which nobody has read yet. */
  said (worker: Worker, message: unknown): void
  /** The thread has ended. */
  ended (worker: Worker, cause: string): void
}

/** Starts the thread of the model. @param entry the module that runs in it */
export function startThread (entry: URL, data: ThreadData, log: Logger, { said, ended }: ModelThreadEvents): Worker {
  const { model, models_dir, allow_download, threads } = data
  const worker = new Worker(entry, {
    workerData: { model, models_dir, allow_download, threads } satisfies ThreadData,
    env: environmentForThread(),
    execArgv: [], // flags of the program (a debugger, say) are not for this thread
    stdout: true, // what libraries print must not get among what the program prints
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

/** Lets a thread finish its present work and end, or ends it whatever it does, where that takes too long. */
export async function finishThread (worker: Worker): Promise<void> {
  const ended = new Promise<void>(resolve => { worker.once('exit', () => { resolve() }) })
  postTo(worker, { type: 'end' })
  await within(end_ms, ended)
  await endThread(worker) // nothing happens to a thread that has ended
}
