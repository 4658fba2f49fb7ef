import type { Config, Permissions } from '../../../kernel/index.ts'

/** What all processes of a confined run together may use; 0: no limit. */
export interface Limits {
  /** A multiple of a MiB: what is left is ignored. */
  memory_bytes_max: number
  /** Threads count as processes. */
  processes_max: number
  /** Time of the processor, of all cores together. */
  cpu_ms_max: number
}

/** What of `Limits` was used too much, so that the run was ended. */
export type Excess = 'memory' | 'processes' | 'cpu'

const mebibyte = 1_048_576
const largest = 2 ** 32 - 1

/** What a run may use: the smaller of what the user and the skill say. */
export function limitsOf (permissions: Permissions, isolation: Config['isolation']): Limits {
  return {
    memory_bytes_max: least(permissions.memory_bytes_max, isolation.memory_bytes_max),
    processes_max: least(permissions.processes_max, isolation.processes_max),
    cpu_ms_max: least(permissions.cpu_ms_max, isolation.cpu_ms_max)
  }
}

/** The smaller one of two limits. Undefined and 0: no limit. */
export function least (one: number | undefined, other: number): number {
  return one === undefined || one === 0 ? other : other === 0 ? one : Math.min(one, other)
}

/** The limits as the programs in C take them, with 32 bits each. */
export function limitNumbers ({ memory_bytes_max, processes_max, cpu_ms_max }: Limits): number[] {
  return [Math.floor(memory_bytes_max / mebibyte), processes_max, cpu_ms_max].map(number => Math.min(number, largest))
}

/** What was used too much of, for a message that begins with the tool's name. */
export function excessOf (excess: Excess, limits: Limits | undefined): string {
  switch (excess) {
    case 'memory': return `used more than ${Math.floor((limits?.memory_bytes_max ?? 0) / mebibyte)} MiB of memory and was ended`
    case 'processes': return `had more than ${limits?.processes_max} processes and threads and was ended`
    case 'cpu': return `used more than ${limits?.cpu_ms_max} ms of processor time (cpu_ms_max) and was ended`
  }
}
