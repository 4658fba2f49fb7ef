import type { Execution } from './execution.ts'

export type End = { value: unknown, over: true } | { error: unknown, over: boolean }

/**
 * How a promise ends; or the stray error of its execution, which then goes on and is not over.
 * @param waiting called when the promise is still pending after what was due at once
 */
export function settled (execution: Execution, begin: () => unknown, waiting?: () => void): Promise<End> {
  return new Promise(resolve => {
    let pending = true
    const end = (how: End): void => {
      pending = false
      execution.fail = undefined
      resolve(how)
    }
    execution.fail = error => { end({ error, over: false }) }
    new Promise(resolve => { resolve(begin()) }).then(
      value => end({ value, over: true }),
      (error: unknown) => end({ error, over: true })
    )
    if (waiting !== undefined) afterMicrotasks(4, () => { if (pending) waiting() })
  })
}

/** An async function that awaits nothing settles within a few microtasks: it is not worth a message that it waits. */
function afterMicrotasks (count: number, then: () => void): void {
  if (count === 0) then()
  else queueMicrotask(() => { afterMicrotasks(count - 1, then) })
}

export function isThenable (value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
