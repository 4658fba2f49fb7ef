/** How long a condition may take to come true, in milliseconds: only a hang reaches it, however busy the machine. */
const patience_ms = 60_000

/**
 * Waits until a condition holds, looking every few milliseconds.
 * @throws Error when it has not come true after a minute
 */
export async function until (condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + patience_ms; !await condition();) {
    if (performance.now() > end) throw new Error(`after ${patience_ms} ms there is still not: ${condition.toString()}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
