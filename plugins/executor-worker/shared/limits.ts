/** What bounds a run and the threads, in milliseconds unless the name says otherwise. */
export interface Limits {
  /** Tools that compute at once. */
  threads: number
  /** Threads there may be: computing, waiting, settling and idle ones. */
  threadsMax: number
  queueMax: number
  outputBytesMax: number
  heapBytesMax: number
  /** A module that takes longer to load did not load. */
  load_ms: number
  /** Between asking a tool to end and ending its thread. */
  grace_ms: number
  /** An idle thread is ended after so long. */
  idle_ms: number
}

/** A dispatched run that a thread has not begun to load or run after so long is given to another. */
export const begin_ms = 15_000
/** A call of a batch that takes longer has the thread to itself from then on: those behind it go elsewhere. */
export const slow_ms = 10
/** What the calls of a batch take together, as far as is known, at most: those who wait for it wait no longer. */
export const batch_ms = 4
/** How often a run is dispatched before it is given up, when threads end or block before they begin it. */
export const attemptsMax = 3
/** How long a thread has to close what its tool left open, until it is ended. */
export const settle_ms = 100
/** A thread that blocks outside JavaScript can't be ended at once; after so long it is no longer waited for. */
export const abandon_ms = 1000
/** Said to whoever asks a closed executor for something. */
export const stopping = 'The executor is stopping and takes no new runs'
