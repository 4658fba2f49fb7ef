import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { readVersion } from '../../kernel/index.ts'

/** The middle of the numbers; NaN of none. */
export function median (numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

/** To so many digits behind the point. */
export function rounded (number: number, digits = 2): number {
  return Number(number.toFixed(digits))
}

/** Writes what a benchmark found, with the machine, the versions and the commit, where a file is wanted (`--json FILE`). */
export async function save (file: string | undefined, question: string, found: object): Promise<void> {
  if (file === undefined) return
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism(), node: process.version, platform: process.platform }
  await writeFile(file, `${JSON.stringify({ question, at: new Date().toISOString(), ...readVersion(), machine, ...found }, null, 2)}\n`)
}
