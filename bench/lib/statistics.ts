import type { Goal } from './benchmark.ts'

/** The number below which that share of the numbers lies, between two of them where it must be; NaN of none. */
export function quantile (numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)] ?? Number.NaN
  return below + ((sorted[Math.ceil(at)] ?? Number.NaN) - below) * (at - Math.floor(at))
}

export function median (numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}

/** To three significant digits, or to whole numbers above that. */
export function rounded (number: number): number {
  return Math.abs(number) >= 100 ? Math.round(number) : Number(number.toPrecision(3))
}

/** Whether a number is as it should be. */
export function meets (goal: Goal, number: number): boolean {
  return 'at_least' in goal ? number >= goal.at_least : number <= goal.at_most
}

/** A round's number over the peer's of the same round, for all rounds. */
export function ratios (numbers: readonly number[], peers: readonly number[]): number[] {
  return numbers.map((number, i) => number / (peers[i] ?? Number.NaN))
}

/**
 * Measures all subjects in each round, one after the other, so that what else the machine does falls on all alike. Each
 * round begins with another subject. One round before them warms up and does not count.
 */
export async function interleaved<Name extends string, Sample> (
  subjects: Record<Name, () => Promise<Sample>>,
  rounds: number
): Promise<Record<Name, Sample[]>> {
  const entries = Object.entries(subjects) as [Name, () => Promise<Sample>][]
  const samples = Object.fromEntries(entries.map(([name]): [string, Sample[]] => [name, []])) as Record<Name, Sample[]>
  for (const [, measure] of entries) await measure()
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[(i + round) % entries.length]
      if (entry !== undefined) samples[entry[0]].push(await entry[1]())
    }
  }
  return samples
}
