import type { CancelSignal } from '../lib/cancel.ts'
import type { Version } from '../lib/version.ts'
import type { Config } from './config.ts'
import type { Execution, JsonObject, PluginStatus, QuarantinedSkill, SkillWarning } from './schemas.ts'
import type { Search } from './search.ts'
import type { SkillDefinition, ToolDefinition } from './skill.ts'
import type { Storage } from './storage.ts'

/** A call that was validated and may run. */
export interface Job {
  skill: SkillDefinition
  tool: ToolDefinition
  parameters: JsonObject
  timeout_ms: number
  transport: Execution['transport']
  /** Name of the key it was called with, or null. */
  key: string | null
}

/** The skills that can be run. */
export interface SkillCatalog {
  /** By name. The same list until skills are replaced. */
  readonly skills: readonly SkillDefinition[]
  readonly size: number
  readonly quarantined: readonly QuarantinedSkill[]
  readonly warnings: readonly SkillWarning[]
  /** @throws SkilletError SKILL_NOT_FOUND, naming the nearest one */
  skill (name: string): SkillDefinition
  /** @throws SkilletError SKILL_NOT_FOUND or TOOL_NOT_FOUND, naming the nearest one */
  tool (skill_name: string, tool_name: string): { skill: SkillDefinition, tool: ToolDefinition }
  /**
   * Checks the parameters of a call and fills in their defaults.
   * @throws SkilletError INVALID_PARAMETERS, saying what is wrong and where
   */
  check (skill: SkillDefinition, tool: ToolDefinition, parameters: JsonObject): void
}

/** Runs jobs as executions. */
export interface Runner {
  /**
   * Runs a job to its end. An aborted signal cancels it. Throws at once, and not by rejecting, where there is no
   * execution.
   * @param accepted told its id, before the first event that carries it
   * @returns the final record, acknowledged as `storage.durability` says
   * @throws SkilletError OVERLOADED when the queue is full or the server stops; then there is no execution
   */
  run (job: Job, signal: CancelSignal, accepted?: (execution_id: string) => void): Promise<Execution>
  /**
   * Cancels an execution, of this process or another, and waits for its end.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when it ended otherwise
   */
  cancel (id: string, signal: CancelSignal): Promise<Execution>
}

/** What handlers of operations work with, narrowed to the rights of the call. */
export interface Services {
  config: Config
  version: Version
  catalog: SkillCatalog
  executions: Runner
  storage: Pick<Storage, 'get' | 'list'>
  search: Pick<Search, 'search' | 'state'>
  /** The same list until one of them changes. */
  plugins (): readonly PluginStatus[]
  uptime_seconds (): number
}
