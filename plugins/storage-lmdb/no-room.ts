import { hasCode, messageOf } from '../../kernel/index.ts'

/** Whether an error of the system or of LMDB means that the disk is full. LMDB gives the system's text, but no code. */
export function isNoRoom (error: unknown): boolean {
  if (hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) return true
  return /No space left on device|Disk quota exceeded|File too large/.test(messageOf(error))
}
