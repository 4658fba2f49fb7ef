import { SkilletError } from '../../../kernel/index.ts'

/** The end of a thread while it had a run. */
export class ThreadDeath extends Error {
  override readonly name = 'ThreadDeath'
  /** Undefined when nobody waited for the thread's exit any more. */
  readonly code: number | undefined
  readonly outOfMemory: boolean
  /** Whether the system had no room for the thread, so that it never ran. */
  readonly notStarted: boolean
  /** Whether the server ended the thread for a message that it sent. */
  readonly refused: boolean

  constructor (code: number | undefined, cause: Error | undefined) {
    super(cause?.message ?? `the thread ended with code ${code}`, { cause })
    this.code = code
    this.outOfMemory = isOutOfMemory(cause)
    this.notStarted = cause !== undefined && 'code' in cause && cause.code === 'ERR_WORKER_INIT_FAILED'
    this.refused = cause instanceof Refusal
  }
}

/** An error of `Thread.execute` as the death of the thread. */
export function deathOf (error: unknown): ThreadDeath {
  return error instanceof ThreadDeath ? error : new ThreadDeath(undefined, error instanceof Error ? error : undefined)
}

/** The reason why the server listens to a thread no more. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

export function isOutOfMemory (error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_WORKER_OUT_OF_MEMORY' && typeof error.message === 'string'
}

/** The error of a run for which no thread could start. */
export function noRoom (cause: unknown): SkilletError {
  const why = 'The system has no room for another script thread; try again later'
  return new SkilletError('OVERLOADED', why, {}, { cause })
}
