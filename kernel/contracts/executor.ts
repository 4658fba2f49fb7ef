import type { CancelSignal } from '../lib/cancel.ts'
import type { LogLevel } from './bus.ts'
import type { Output } from './output.ts'
import type { Isolation, JsonObject } from './schemas.ts'
import type { SkillDefinition, ToolDefinition } from './skill.ts'

/** One run of a tool. Plain data: it crosses thread and process borders. */
export interface Task {
  execution_id: string
  skill: SkillDefinition
  tool: ToolDefinition
  /** Valid against the tool's `input_schema`, with defaults filled in. */
  parameters: JsonObject
  /** Counted by the executor from the moment it calls `observer.started`. */
  timeout_ms: number
  /** The skill's own section of the configuration. */
  config: JsonObject
  /**
   * What the skill declares in `permissions.secrets`, by name; absent where it declares nothing. To be given to the
   * tool, and kept nowhere: the kernel takes the values out of what comes back.
   */
  secrets?: Readonly<Record<string, string>>
}

/** How an executor tells what happens in a run. */
export interface TaskObserver {
  /**
   * The tool begins to run now, in this isolation; or it began `ago_ms` milliseconds ago (default 0), where that is
   * told late. Called at most once; always before `success` or `timeout`. A tool that can't be started is `failed`
   * without it.
   */
  started (isolation: Isolation, ago_ms?: number): void
  progress (done: number, total: number | undefined, message: string | undefined): void
  log (level: LogLevel, text: string): void
  /**
   * The tool put out this text: in order, all of it together the beginning of what the outcome holds as `output`. An
   * executor that learns of output only at the end need not call it. Absent where nobody listens: then nothing is to be
   * gathered for it.
   */
  output? (text: string): void
}

/** How a run ended. `error` holds what only the executor knows, such as `exit_code` in its details. */
export type Outcome =
  | Output & { status: 'success' }
  | Output & { status: 'failed', error: { message: string, details: JsonObject } }
  | Output & { status: 'timeout' }
  | Output & { status: 'cancelled' }

/** Runs the tools of one runtime. Owns its queue, its limits and the time limit of each run. */
export interface Executor {
  /** The `runtime` of the skills it runs. */
  readonly runtime: string
  /**
   * Refuses parameters that are valid for the schema and still can't be run, before an execution exists.
   * @throws SkilletError INVALID_PARAMETERS
   */
  check? (tool: ToolDefinition, parameters: JsonObject): void
  /**
   * Runs a tool. Aborting the signal drops it from the queue, or asks it to end and then ends it; the outcome is
   * then `cancelled`. Rejects only for a fault of the executor's own, never for one of the tool's; with OVERLOADED
   * once it is closed. Whatever the tool does, no other run is harmed and nothing runs twice.
   */
  run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome>
  /** A tool of the runtime will be run soon: starts what its run would wait for. */
  prepare? (): void
  /**
   * Resolves when what runs its tools answers, or is busy with as many as it may run; rejects when it does not. One
   * call at a time.
   */
  probe? (): Promise<void>
}
