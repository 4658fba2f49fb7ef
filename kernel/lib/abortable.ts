/**
 * Resolves or rejects as the promise does, unless the signal aborts before. Then it rejects with the signal's reason.
 */
export async function abortable<T> (promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let abort = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => { abort = () => { reject(signal.reason as Error) } })
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
