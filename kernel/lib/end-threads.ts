import { setFlagsFromString } from 'node:v8'
import type { Worker } from 'node:worker_threads'

let made = false

/**
 * Makes threads that run others' code end when they are told to. V8 of Node 24 takes the check for an end out of a loop
 * that fills new arrays of a constant length (`for (;;) new Array(1000).fill(0)`) as it unrolls the inner one: such a
 * thread takes a core, and grows beyond its limit of memory, for as long as the process lives. To be called before such
 * a thread starts.
 */
export function letThreadsEnd (): void {
  if (made) return
  made = true
  if (process.versions.node.startsWith('24.')) setFlagsFromString('--no-turboshaft-loop-unrolling')
}

/** How often a thread that does not end is told again, in milliseconds. */
const again_ms = 1_000

/**
 * Ends a thread, whatever it does. V8 may lose the word, so that a thread in an endless loop would take a core as long
 * as the process lives: it is given again until the thread has ended. Resolves then; one that blocks outside JavaScript
 * may never end.
 */
export async function endThread (worker: Worker): Promise<void> {
  const again = setInterval(() => { void worker.terminate() }, again_ms).unref()
  try {
    await worker.terminate()
  } finally {
    clearInterval(again)
  }
}
