import type { CancelSignal } from '../lib/cancel.ts'
import type { Version } from '../lib/version.ts'
import type { Config } from './config.ts'
import type { Execution, JsonObject, PluginStatus, QuarantinedSkill, SkillWarning } from './schemas.ts'
import type { Search } from './search.ts'
import type { SkillDefinition, ToolDefinition } from './skill.ts'
import type { Storage } from './storage.ts'

/** A call of a tool that was validated and may run. */
export interface Job {
  skill: SkillDefinition
  tool: ToolDefinition
  parameters: JsonObject
  timeout_ms: number
  transport: Execution['transport']
  /** Name of the API key of the call, or null without a key. */
  key: string | null
}

/** The skills that can be run. */
export interface SkillCatalog {
  /** The skills, sorted by name. The same list object until skills are replaced. */
  readonly skills: readonly SkillDefinition[]
  readonly size: number
  readonly quarantined: readonly QuarantinedSkill[]
  readonly warnings: readonly SkillWarning[]
  /** @throws SkilletError SKILL_NOT_FOUND, with the nearest known name */
  skill (name: string): SkillDefinition
  /** @throws SkilletError SKILL_NOT_FOUND or TOOL_NOT_FOUND, with the nearest known name */
  tool (skill_name: string, tool_name: string): { skill: SkillDefinition, tool: ToolDefinition }
  /**
   * Checks the parameters of a call and fills in their default values.
   * @throws SkilletError INVALID_PARAMETERS, with the error and its place
   */
  check (skill: SkillDefinition, tool: ToolDefinition, parameters: JsonObject): void
}

/** Runs each job as an execution. */
export interface Runner {
  /**
   * Runs a job to its end. Aborting the signal cancels the execution. When no execution can be created, the function
   * throws synchronously; it does not return a rejected promise.
   * @param accepted callback: receives the id of the execution before the first event with that id is published
   * @returns the final record, acknowledged according to `storage.durability`
   * @throws SkilletError OVERLOADED when the queue is full or the server stops; no execution exists then
   */
  run (job: Job, signal: CancelSignal, accepted?: (execution_id: string) => void): Promise<Execution>
  /**
   * Cancels an execution of this process or of another process, and waits for its end.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when the execution ended with another status
   */
  cancel (id: string, signal: CancelSignal): Promise<Execution>
}

/** The services that handlers of operations use, restricted to the rights of the call. */
export interface Services {
  config: Config
  version: Version
  catalog: SkillCatalog
  executions: Runner
  storage: Pick<Storage, 'get' | 'list'>
  search: Pick<Search, 'search' | 'state'>
  /** How long a search may wait for the model, in milliseconds; then it answers by words alone. */
  search_patience_ms: number
  /** The states of all plugins: the same list object until a state changes. */
  plugins (): readonly PluginStatus[]
  uptime_seconds (): number
}
