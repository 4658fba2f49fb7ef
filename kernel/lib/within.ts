/** Waits for a promise, but no longer than `ms`. Whether it was fulfilled by then; rejects as it does. */
export async function within (ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer
  const late = new Promise<false>(resolve => { timer = setTimeout(() => { resolve(false) }, ms) })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
