import { SkilletError } from './errors.ts'

/** Makes a cursor for storages with sequence numbers: the next page begins below this sequence number. */
export function encodeCursor (sequence: number): string {
  return `before-${sequence.toString(36)}`
}

/** Reads the sequence number of a cursor. @throws SkilletError INVALID_PARAMETERS if `encodeCursor` did not make it */
export function decodeCursor (cursor: string): number {
  const sequence = Number.parseInt(cursor.slice('before-'.length), 36)
  // After the sequence number 1 there is no further page, so the smallest number in a cursor is 2.
  if (!Number.isSafeInteger(sequence) || sequence < 2 || encodeCursor(sequence) !== cursor) {
    throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor })
  }
  return sequence
}
