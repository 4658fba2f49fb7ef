import type { CancelSignal } from './cancel.ts'

/** Resolves after a time, or when the signal aborts. */
export async function delay (ms: number, signal: CancelSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>(resolve => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}
