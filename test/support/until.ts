/** Resolves when the condition holds, looked at every few milliseconds. @throws Error after a minute, naming it */
export async function until (what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`it did not come to be that ${what}`)
    await new Promise(resolve => { setTimeout(resolve, 5) })
  }
}
