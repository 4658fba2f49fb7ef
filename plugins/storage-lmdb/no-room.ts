import { hasCode, messageOf } from '../../kernel/index.ts'

/** Whether an error means that the disk has no room, of the system or of LMDB, which gives the system's text only. */
export function isNoRoom (error: unknown): boolean {
  if (hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) return true
  return /No space left on device|Disk quota exceeded|File too large/.test(messageOf(error))
}
