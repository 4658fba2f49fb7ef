import type { Environment } from './environment.ts'

/**
 * The sequence numbers in use: all numbers from `first` to `last`, without a gap (none when `last` is below `first`),
 * and `aside` lower numbers, of unfinished executions that pruning skipped.
 */
export interface Bounds { first: number, last: number, aside: number }

/** @throws Error naming the file when it is damaged */
export function readBounds ({ meta, file }: Pick<Environment, 'meta' | 'file'>): Bounds {
  return boundsOf(meta.get('bounds'), file)
}

/** @throws Error when the stored text is damaged */
export function boundsOf (text: string | undefined, file: string): Bounds {
  if (text === undefined) return { first: 1, last: 0, aside: 0 }
  const [first = Number.NaN, last = Number.NaN, aside = 0] = text.split(' ').map(Number) // format 2 had no third number
  if (![first, last, aside].every(Number.isSafeInteger)) {
    throw new Error(`${file} is damaged: its bounds are "${text}"`)
  }
  return { first, last, aside }
}

/** Writes the bounds. Within a transaction. */
export function writeBounds ({ meta }: Environment, { first, last, aside }: Bounds): void {
  meta.putSync('bounds', `${first} ${last} ${aside}`)
}
