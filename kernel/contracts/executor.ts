import type { CancelSignal } from '../lib/cancel.ts'
import type { Question } from './ask.ts'
import type { LogLevel } from './bus.ts'
import type { Output } from './output.ts'
import type { Isolation, JsonObject } from './schemas.ts'
import type { SkillDefinition, ToolDefinition } from './skill.ts'

/** A run of a tool. Plain data, because it is passed between threads and processes. */
export interface Task {
  execution_id: string
  skill: SkillDefinition
  tool: ToolDefinition
  /** The parameters, valid against the tool's `input_schema`, with default values filled in. */
  parameters: JsonObject
  /** The time limit in milliseconds. The executor counts it from the moment when it calls `observer.started`. */
  timeout_ms: number
  /** The skill's own section of the configuration. */
  config: JsonObject
  /**
   * The secrets that the skill declares in `permissions.secrets`, by name; absent when it declares none. The executor
   * passes them to the tool and stores them nowhere. The kernel removes their values from the result of the run.
   */
  secrets?: Readonly<Record<string, string>>
}

/** An executor reports the events of a run to this observer. */
export interface TaskObserver {
  /**
   * The tool starts now, in this isolation, or it started `ago_ms` milliseconds ago (default 0) when the executor
   * reports the start late. Called at most once, and always before an outcome `success` or `timeout`. When a tool can't
   * be started, the outcome is `failed` without this call.
   */
  started (isolation: Isolation, ago_ms?: number): void
  progress (done: number, total: number | undefined, message: string | undefined): void
  log (level: LogLevel, text: string): void
  /**
   * The tool wrote this text. All texts of `stdout` (the default), in order, are the beginning of the `output` of the
   * outcome. An executor that receives the output only at the end need not call this function. It is absent when the
   * text must not be shown before the end; the executor then need not collect text for it.
   */
  output? (text: string, stream?: 'stdout' | 'stderr'): void
  /**
   * Asks the caller of the tool. The time until the answer does not count against the time limit of the run: the
   * executor stops its timer for that time. The kernel limits number, size and time of questions.
   * @throws Unanswered when the caller can't be asked, or does not answer; the signal's reason when that aborts
   */
  ask? (question: Question, signal: AbortSignal): Promise<JsonObject>
  /**
   * Waits until a person has approved what the tool is about to do. As with `ask`, that time does not count against the
   * time limit of the run.
   * @param preview what the tool would do, in one line or a few
   * @throws Error when it was denied: the run has then ended, and its signal aborts; the signal's reason when that
   * aborts
   */
  approve? (preview: string, signal: AbortSignal): Promise<void>
}

/** The outcome of a run. `error` holds facts that only the executor has, such as `exit_code` in its details. */
export type Outcome =
  | Output & { status: 'success' }
  | Output & { status: 'failed', error: { message: string, details: JsonObject } }
  | Output & { status: 'timeout' }
  | Output & { status: 'cancelled' }

/**
 * The secrets that a skill declares, as in a task; undefined when it declares none.
 * @throws Error naming those that are not set, with the remedy
 */
export type SecretsOf = (skill: SkillDefinition) => Readonly<Record<string, string>> | undefined

/** Runs the tools of one runtime. An executor manages its queue, its limits and the time limit of each run. */
export interface Executor {
  /** The `runtime` of the skills that this executor runs. */
  readonly runtime: string
  /**
   * Refuses parameters that are valid for the schema but can't be run. Called before an execution exists.
   * @throws SkilletError INVALID_PARAMETERS
   */
  check? (tool: ToolDefinition, parameters: JsonObject): void
  /**
   * Runs a tool. When the signal aborts, the executor removes the run from its queue; when the tool runs already, the
   * executor asks it to end and then ends it. The outcome is then `cancelled`. The promise rejects only for a fault of
   * the executor, never for a fault of the tool; after the executor has closed, it rejects with OVERLOADED. Whatever a
   * tool does, it must not affect another run, and no run may happen twice.
   */
  run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome>
  /**
   * Gives it the executors of all runtimes, after they have started and before the first run. An executor whose tools
   * are run in steps of other runtimes passes tasks to them; each task is then that executor's, with its limits.
   */
  connect? (executors: ReadonlyMap<string, Executor>): void
  /**
   * Tells the executor which skills it may have to run: when a kernel with transports has started, and whenever the
   * skills change. It may prepare for them, or learn which tools they have, in the background; it must not wait.
   */
  follow? (skills: readonly SkillDefinition[], secretsOf: SecretsOf): void
  /** Starts the work that the next run of a tool would wait for. */
  prepare? (): void
  /**
   * Health check. Resolves when the workers that run the tools answer, or when they run as many tools as they may.
   * Rejects when they do not answer. The kernel makes one call at a time.
   */
  probe? (): Promise<void>
}
