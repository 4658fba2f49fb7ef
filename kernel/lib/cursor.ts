import { SkilletError } from './errors.ts'

/** The text of a cursor, for stores that number their executions: the next page begins below this sequence number. */
export function encodeCursor (sequence: number): string {
  return `before-${sequence.toString(36)}`
}

/** @throws SkilletError INVALID_PARAMETERS unless `encodeCursor` makes that very text */
export function decodeCursor (cursor: string): number {
  const sequence = Number.parseInt(cursor.slice('before-'.length), 36)
  // No page ends at the number 1 with more to come, so no cursor is made of it.
  if (!Number.isSafeInteger(sequence) || sequence < 2 || encodeCursor(sequence) !== cursor) {
    throw new SkilletError('INVALID_PARAMETERS', 'cursor is none that this history gave', { cursor })
  }
  return sequence
}
