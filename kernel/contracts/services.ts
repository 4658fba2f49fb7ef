import type { CancelSignal } from '../lib/cancel.ts'
import type { Version } from '../lib/version.ts'
import type { Decision } from './approval.ts'
import type { QuestionHandler } from './ask.ts'
import type { Config } from './config.ts'
import type { LiveEvents } from './live.ts'
import type { Outputs } from './outputs.ts'
import type { Execution, JsonObject } from './schemas.ts'
import type { PluginStatus, QuarantinedSkill, SkillWarning } from './status.ts'
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
  /** Answers what the tool asks of its caller. */
  questions?: QuestionHandler | undefined
  /** The execution that the job repeats. */
  origin?: string
  /** Absent when no parameter was a handle. */
  handles?: JobHandles
}

/** The handles of a job whose parameters took outputs of other executions. */
export interface JobHandles {
  /** The parameters as they were given, for the record, with default values filled in. */
  readonly given: JsonObject
  /** Ends the memory that the outputs are counted with. Idempotent. */
  readonly release: () => void
}

/** How an asynchronous execution waits. */
export interface QueueOptions {
  /** Higher ones start first. */
  priority: number
  /** How long it may wait for its start, in milliseconds. */
  queue_ms: number
  /** Whether it is only stored: another process starts it. */
  elsewhere?: boolean
}

/** A request that runs once, whoever repeats it. */
export interface Once {
  /** The key of the caller, as the storage keeps it. */
  readonly key: string
  /** Identifies what is asked: another request with the same key is a CONFLICT. */
  readonly fingerprint: string
  /** When the key becomes free again, in Unix milliseconds. */
  readonly expires_ms: number
}

/** The skills that can be run. */
export interface SkillCatalog {
  /** The skills, sorted by name. The same list object until skills are replaced. */
  readonly skills: readonly SkillDefinition[]
  readonly size: number
  readonly quarantined: readonly QuarantinedSkill[]
  readonly warnings: readonly SkillWarning[]
  /**
   * A skill, such as `github`, or the definition of an instance, such as `github@work`.
   * @throws SkilletError SKILL_NOT_FOUND, with the nearest known name
   */
  skill (name: string): SkillDefinition
  /**
   * A tool and the definition with which it runs: of a skill with instances, the definition of the named instance, or
   * of the default, or of the only one.
   * @throws SkilletError SKILL_NOT_FOUND or TOOL_NOT_FOUND, with the nearest known name; INVALID_PARAMETERS naming the
   * instances, when the call must name one
   */
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
   * As `run`, but for the first request with a key alone. A later one gets the record of the first execution, at its
   * end.
   * @throws SkilletError CONFLICT when the key stands for another request; EXECUTION_NOT_FOUND when the first execution
   * was pruned
   */
  runOnce (
    job: Job, once: Once, signal: CancelSignal, accepted?: (execution_id: string) => void
  ): Promise<Execution>
  /**
   * Accepts a job that runs later, and resolves when the history has it on disk, whatever `storage.durability` says.
   * After a crash of this process, another one starts it, unless it had been given to its executor.
   * @param once a key of the request: a later one with this key gets the record of the first execution, as it is now
   * @returns the record
   * @throws SkilletError as `run` and `runOnce`; STORAGE_UNAVAILABLE when the history can't be written
   */
  submit (job: Job, options: QueueOptions, once?: Once): Promise<Execution>
  /**
   * Starts an execution that waits in the storage for a process, and waits for its end.
   * @param job makes its job from its record
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when a process has it, or had it
   */
  start (id: string, job: (execution: Execution) => Job | Promise<Job>): Promise<Execution>
  /**
   * Waits until an execution has ended, or for `wait_ms`. Many calls may wait at once.
   * @returns its record after the wait; undefined when it is not known
   */
  wait (id: string, wait_ms: number, signal: CancelSignal): Promise<Execution | undefined>
  /** Why a queued execution of this process does not run yet; undefined for all others. */
  reasonOf (id: string): string | undefined
  /**
   * Cancels an execution of this process or of another process, and waits for its end.
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when the execution ended with another status
   */
  cancel (id: string, signal: CancelSignal): Promise<Execution>
  /**
   * Decides on the request for approval of an execution, whichever process has it, and waits until that took effect.
   * @returns the record after the decision
   * @throws SkilletError EXECUTION_NOT_FOUND; CONFLICT when it does not wait for this decision any more; OVERLOADED
   * when the process that has it does not answer
   */
  decide (id: string, decision: Decision, signal: CancelSignal): Promise<Execution>
}

/** The services that handlers of operations use, restricted to the rights of the call. */
export interface Services {
  config: Config
  version: Version
  catalog: SkillCatalog
  executions: Runner
  /** The events of executions while they last. */
  live: LiveEvents
  /** The whole outputs of executions that have ended. */
  outputs: Outputs
  storage: Pick<Storage, 'get' | 'list' | 'find' | 'visit'>
  search: Pick<Search, 'search' | 'state'>
  /** How long a search may wait for the model, in milliseconds; then it answers by words alone. */
  search_patience_ms: number
  /** The states of all plugins: the same list object until a state changes. */
  plugins (): readonly PluginStatus[]
  uptime_seconds (): number
}
