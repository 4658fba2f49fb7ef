/** How long work goes on between two turns of the event loop, in milliseconds. */
const slice_ms = 5

/** What is to be awaited between the steps of long work: lets the event loop turn when it has gone on for long enough. */
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
