import type { Config, Permissions } from '../../../kernel/index.ts'
import type { Limits } from '../protocol.ts'

/** What a command may use: the smaller of what the user and the skill say. */
export function limitsOf (permissions: Permissions, isolation: Config['isolation']): Limits {
  const least = (own: number | undefined, setting: number): number =>
    own === undefined ? setting : setting === 0 ? own : Math.min(own, setting)
  return {
    memory_bytes_max: least(permissions.memory_bytes_max, isolation.memory_bytes_max),
    processes_max: least(permissions.processes_max, isolation.processes_max)
  }
}
