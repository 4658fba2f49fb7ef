/** The kind of an error. Each transport maps kinds, never codes, to its own signals. */
export type ErrorKind =
  | 'invalid' | 'unauthenticated' | 'forbidden' | 'missing' | 'method' | 'size' | 'media_type'
  | 'range' | 'conflict' | 'tool_failed' | 'limited' | 'overloaded' | 'interrupted' | 'internal' | 'timed_out'

/**
 * The table of all errors: each code with its kind and its meaning. A code is never reused for another meaning. The
 * documentation, HTTP statuses and exit codes are derived from this table.
 */
export const ERRORS = {
  INVALID_PARAMETERS: {
    kind: 'invalid',
    meaning: 'Tool parameters, or another malformed body, path or query value, are invalid'
  },
  UNAUTHORIZED: { kind: 'unauthenticated', meaning: 'The request has no valid API key' },
  FORBIDDEN: {
    kind: 'forbidden',
    meaning: 'The Host or Origin of the request is not allowed here, or the rights of its API key do not cover what it asks'
  },
  APPROVAL_DENIED: {
    kind: 'forbidden', meaning: 'The run of the tool was not approved: by a rule, by a person, or by nobody in time'
  },
  SKILL_NOT_FOUND: { kind: 'missing', meaning: 'The skill does not exist' },
  TOOL_NOT_FOUND: { kind: 'missing', meaning: 'The skill has no such tool' },
  EXECUTION_NOT_FOUND: { kind: 'missing', meaning: 'The execution does not exist, or was pruned from the history' },
  OUTPUT_NOT_FOUND: { kind: 'missing', meaning: 'The file with the whole output of the execution was removed' },
  NOT_FOUND: { kind: 'missing', meaning: 'The path does not exist' },
  METHOD_NOT_ALLOWED: { kind: 'method', meaning: 'The path does not take this method' },
  PAYLOAD_TOO_LARGE: { kind: 'size', meaning: 'The request body is larger than the limit' },
  UNSUPPORTED_MEDIA_TYPE: { kind: 'media_type', meaning: 'The request body is not declared as application/json' },
  RANGE_NOT_SATISFIABLE: { kind: 'range', meaning: 'The output has no byte in the range that was asked for' },
  CONFLICT: { kind: 'conflict', meaning: 'The request does not fit the present state' },
  CANCELLED: { kind: 'conflict', meaning: 'The execution was cancelled' },
  TOOL_EXECUTION_FAILED: { kind: 'tool_failed', meaning: 'The tool failed' },
  RATE_LIMITED: { kind: 'limited', meaning: 'Too many requests' },
  OVERLOADED: { kind: 'overloaded', meaning: 'The server has as much work as it accepts, or is stopping' },
  STORAGE_UNAVAILABLE: {
    kind: 'overloaded',
    meaning: 'The history can\'t be written now, such as on a full disk, so nothing is run'
  },
  INTERRUPTED: {
    kind: 'interrupted',
    meaning: 'The execution was ended by a shutdown, or by the death of the process that ran it'
  },
  INTERNAL: { kind: 'internal', meaning: 'The server has a fault, described in its log' },
  TIMEOUT: { kind: 'timed_out', meaning: 'The execution went past its time limit' }
} as const satisfies Record<string, { kind: ErrorKind, meaning: string }>

export type ErrorCode = keyof typeof ERRORS

export function isErrorCode (text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text)
}

/** Further facts about an error, as plain JSON. */
export type ErrorDetails = Record<string, unknown>

/** The form of an error that users see, in every transport. */
export interface ErrorEnvelope {
  error: { code: ErrorCode, message: string, details: ErrorDetails }
  success: false
}

/** The mark of a SkilletError, the same in every copy of this file. */
const mark = Symbol.for('skillet.error')

/** The only error that leaves the kernel. Its message is for the user; its cause is for the log. */
export class SkilletError extends Error {
  /**
   * npm may put a copy of Skillet beside a plugin: an error of one copy is known by the other. A class that extends
   * this one knows its own errors only.
   */
  static override [Symbol.hasInstance] (value: unknown): value is SkilletError {
    if (this !== SkilletError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return value instanceof Error && Reflect.get(value, mark) === true
  }

  get [mark] (): true {
    return true
  }

  override readonly name = 'SkilletError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor (code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }

  get kind (): ErrorKind {
    return ERRORS[this.code].kind
  }

  /** The envelope that all transports send as the answer. */
  envelope (): ErrorEnvelope {
    return { error: { code: this.code, message: this.message, details: this.details }, success: false }
  }

  /**
   * Converts any thrown value to a SkilletError. A foreign error becomes INTERNAL, and its own message does not appear
   * in the new message.
   */
  static from (thrown: unknown): SkilletError {
    if (thrown instanceof SkilletError) return thrown
    return new SkilletError('INTERNAL', 'The server met an unexpected fault; its log says more', {}, { cause: thrown })
  }
}

/** The message of any thrown value, for logs and for reasons shown to the operator. */
export function messageOf (thrown: unknown): string {
  try {
    // The message of a foreign error may be any value.
    return String(thrown instanceof Error ? thrown.message : thrown)
  } catch {
    return 'a value was thrown that can\'t be described'
  }
}
