/** The errors of WASI: their names in preview 2 and their numbers in preview 1, as the standard has them. */
export const errorNumbers = {
  'access': 2, 'would-block': 6, 'already': 7, 'bad-descriptor': 8, 'busy': 10, 'quota': 19, 'exist': 20,
  'file-too-large': 22, 'illegal-byte-sequence': 25, 'interrupted': 27, 'invalid': 28, 'io': 29, 'is-directory': 31,
  'loop': 32, 'too-many-links': 34, 'name-too-long': 37, 'no-device': 43, 'no-entry': 44, 'insufficient-memory': 48,
  'insufficient-space': 51, 'not-directory': 54, 'not-empty': 55, 'unsupported': 58, 'no-such-device': 60,
  'overflow': 61, 'not-permitted': 63, 'pipe': 64, 'read-only': 69, 'invalid-seek': 70, 'text-file-busy': 74,
  'cross-device': 75
} as const

export type ErrorName = keyof typeof errorNumbers

/** A function of WASI failed. The program is told; it may go on. */
export class WasiError extends Error {
  /** What a transpiled component reads the error from. */
  readonly payload: ErrorName

  constructor (name: ErrorName) {
    super(name)
    this.payload = name
  }
}

/** The program ended itself. */
export class Exit extends Error {
  readonly code: number

  constructor (code: number) {
    super(`it exited with code ${code}`)
    this.code = code
  }
}

const names: Readonly<Record<string, ErrorName>> = {
  EACCES: 'access', EAGAIN: 'would-block', EBUSY: 'busy', EDQUOT: 'quota', EEXIST: 'exist', EFBIG: 'file-too-large',
  EILSEQ: 'illegal-byte-sequence', EINTR: 'interrupted', EINVAL: 'invalid', EISDIR: 'is-directory', ELOOP: 'loop',
  EMLINK: 'too-many-links', ENAMETOOLONG: 'name-too-long', ENOENT: 'no-entry', ENOMEM: 'insufficient-memory',
  ENOSPC: 'insufficient-space', ENOTDIR: 'not-directory', ENOTEMPTY: 'not-empty', ENXIO: 'no-such-device',
  EOVERFLOW: 'overflow', EPERM: 'not-permitted', EPIPE: 'pipe', EROFS: 'read-only', ETXTBSY: 'text-file-busy',
  EXDEV: 'cross-device', EMFILE: 'quota', ENFILE: 'quota'
}

/** Calls the system. @throws WasiError in place of the system's errors */
export function ask<Result> (work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') throw error
    throw new WasiError(names[error.code] ?? 'io')
  }
}
