import type { CancelSignal } from '../lib/cancel.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { ActiveExecution } from './active-execution.ts'

/**
 * Ends an execution when its caller goes away.
 * @param accepted callback: receives the id of the execution. A caller that throws harms nothing: the execution is
 * accepted, and goes on
 * @returns detaches the caller
 */
export function attach (
  active: ActiveExecution, signal: CancelSignal, accepted: ((execution_id: string) => void) | undefined, log: Logger
): () => void {
  const cancel = (): void => { active.end('cancel') }
  try {
    accepted?.(active.execution.id)
  } catch (error) {
    log.error({ execution_id: active.execution.id, error: messageOf(error) }, 'a caller of an execution failed')
  }
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  return () => { signal.removeEventListener('abort', cancel) }
}
