/** How long work may continue between two turns of the event loop, in milliseconds. */
const slice_ms = 5

/** Long work as a generator: each step takes less than about a millisecond, and the return value is the result. */
export type Steps<T> = Generator<undefined, T>

/**
 * Returns a function to call between the steps of long work. When the work has run for `slice_ms`, the function returns
 * a promise to await, which resolves after a turn of the event loop; otherwise it returns undefined.
 */
export function pauses (): () => Promise<void> | undefined {
  let since_ms = performance.now()
  return () => {
    if (performance.now() - since_ms < slice_ms) return undefined
    return new Promise(resolve => {
      setImmediate(() => {
        since_ms = performance.now()
        resolve()
      })
    })
  }
}

/** Runs all steps synchronously. */
export function atOnce<T> (steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Runs the steps, and lets the event loop process other events between them. */
export async function inTurns<T> (steps: Steps<T>): Promise<T> {
  const pause = pauses()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    const wait = pause()
    if (wait !== undefined) await wait
  }
}
