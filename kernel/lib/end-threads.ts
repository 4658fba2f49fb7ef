import { setFlagsFromString } from 'node:v8'
import type { Worker } from 'node:worker_threads'

let made = false

/**
 * Makes sure that threads with foreign code can be terminated. When V8 of Node 24 unrolls the inner loop of a loop that
 * fills new arrays of a constant length (`for (;;) new Array(1000).fill(0)`), it removes the check for termination.
 * Such a thread uses a core, and exceeds its memory limit, until the process ends. This function must be called before
 * such a thread starts.
 */
export function letThreadsEnd (): void {
  if (made) return
  made = true
  if (process.versions.node.startsWith('24.')) setFlagsFromString('--no-turboshaft-loop-unrolling')
}

/** Interval at which the termination of a thread is requested again, in milliseconds. */
const again_ms = 1_000

/**
 * Terminates a thread, whatever it does, and resolves when the thread has ended. V8 may lose a termination request, and
 * a thread in an endless loop would then use a core until the process ends. So the request is repeated until the thread
 * has ended. A thread that blocks outside JavaScript may never end.
 */
export async function endThread (worker: Worker): Promise<void> {
  const again = setInterval(() => { void worker.terminate() }, again_ms).unref()
  try {
    await worker.terminate()
  } finally {
    clearInterval(again)
  }
}
