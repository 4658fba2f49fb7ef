/** How long work goes on between two turns of the event loop, in milliseconds. */
const slice_ms = 5

/** Long work in steps of less than a millisecond or so each, and what it comes to. */
export type Steps<T> = Generator<undefined, T>

/**
 * What is to be awaited between the steps of long work: lets the event loop turn when it has gone on for long enough.
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

/** Does all steps now. */
export function atOnce<T> (steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Does the steps, and lets the event loop turn between them. */
export async function inTurns<T> (steps: Steps<T>): Promise<T> {
  const pause = pauses()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    const wait = pause()
    if (wait !== undefined) await wait
  }
}
