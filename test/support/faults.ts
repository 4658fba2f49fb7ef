/**
 * Experiments with faults: each has a seed, from which all that is random in it follows. `npm run test:faults` runs
 * many seeds; the ordinary suite runs a few. `SKILLET_FAULT_SEED` runs one.
 */
const given = process.env['SKILLET_FAULT_SEED']

/** Whether the long form was asked for. */
export const isLong = process.env['SKILLET_FAULTS'] === 'long'

/** How long a file of experiments may take, in milliseconds: only a hang reaches it. */
export const limit_ms = isLong ? 3_600_000 : 300_000

/** The seeds of an experiment. @param short how many in the ordinary suite @param long how many in the long form */
export function seeds (short: number, long: number): number[] {
  if (given !== undefined) return [Number(given)]
  return Array.from({ length: isLong ? long : short }, (_, i) => i + 1)
}

/** The command that runs one seed again. @param name the name of the test file, such as `garbage` */
export function replay (name: string, seed: number): string {
  return `again: SKILLET_FAULT_SEED=${seed} npm test -- faults/${name}`
}

/** Numbers that follow from a seed (mulberry32). */
export class Random {
  #state: number

  constructor (seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number from 0 to below `limit`. */
  below (limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }

  /** One of several values. @throws Error when there is none */
  of<T> (values: readonly T[]): T {
    const value = values[this.below(values.length)]
    if (value === undefined) throw new Error('there is nothing to choose from')
    return value
  }
}
