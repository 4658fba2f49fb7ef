/** Waits for a promise, at most `ms` milliseconds. Resolves with whether it was fulfilled by then; rejects with it. */
export async function within (ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer
  const late = new Promise<false>(resolve => { timer = setTimeout(() => { resolve(false) }, ms) })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
