import type { Question } from '../contracts/ask.ts'
import type { Bus, LogLevel } from '../contracts/bus.ts'
import { Canceller } from '../lib/cancel.ts'
import type { TaskObserver } from '../contracts/executor.ts'
import type { Listed } from '../lib/list.ts'
import type { Job } from '../contracts/services.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { Execution, Isolation, JsonObject } from '../contracts/schemas.ts'
import { unixTime } from '../lib/time.ts'
import { Asking } from './asking.ts'
import { Journal, type JournalBudget } from './live/journal.ts'
import type { StreamName } from './live/position.ts'
import type { SkillSecrets } from './skill-inputs.ts'

/** Why the kernel ends a run: a cancel request, an interruption, or a newer execution that takes its place. */
export type Ending = 'cancel' | 'interrupt' | { readonly superseded_by: string }

/** What an execution reports to the runner of executions. */
export interface Reports {
  began (active: ActiveExecution, isolation: Isolation, ago_ms: number): void
  /** Waits until a person has approved what the tool is about to do. @throws Error when the run must end */
  approve (active: ActiveExecution, preview: string): Promise<void>
}

/** An unfinished execution of this process. It is also the observer to which the executor reports the run. */
export class ActiveExecution implements TaskObserver, Listed<ActiveExecution> {
  readonly execution: Execution
  readonly job: Job
  readonly abort = new Canceller()
  /** The secrets of the skill; undefined when the skill declares none. */
  readonly secrets: SkillSecrets | undefined
  /** Removes secrets from all data of the execution that is stored or sent; undefined when there are no secrets. */
  readonly redactor: Redactor | undefined
  #ended: Promise<Execution> | undefined
  #resolveEnded: ((ended: Promise<Execution>) => void) | undefined
  /** performance.now() when the execution was accepted. */
  readonly accepted_ms = performance.now()
  ending: Ending = 'cancel'
  /** performance.now() when the tool started; undefined before the start. */
  began_ms: number | undefined
  list: object | undefined
  previous: ActiveExecution | undefined
  next: ActiveExecution | undefined
  /**
   * Defined only for a run without secrets: a secret can be divided between two pieces of output, and the redactor
   * would not find it.
   */
  output?: (text: string, stream?: 'stdout' | 'stderr') => void
  #asking: Asking | undefined
  #journal: Journal | undefined
  readonly #budget: JournalBudget
  readonly #bus: Bus
  readonly #reports: Reports

  constructor (
    execution: Execution,
    job: Job,
    secrets: SkillSecrets | undefined,
    redactor: Redactor | undefined,
    bus: Bus,
    budget: JournalBudget,
    reports: Reports
  ) {
    this.execution = execution
    this.job = job
    this.secrets = secrets
    this.redactor = redactor
    this.#bus = bus
    this.#budget = budget
    this.#reports = reports
    // Of a tool that may run several times, only the output of the last run is the output of the execution.
    if (redactor === undefined && job.tool.retry === undefined) {
      this.output = (text, stream = 'stdout') => { this.#write(stream, text) }
    }
  }

  /** What the run wrote and reported. Made when it is first needed: most runs report nothing. */
  get journal (): Journal {
    return this.#journal ??= new Journal(this.#budget)
  }

  /** Tells readers that the execution entered a state. */
  moved (): void {
    this.#journal?.wake()
  }

  /** Puts what the run wrote and reported into the record. */
  recordTimeline (): void {
    const timeline = this.#journal?.timeline()
    if (timeline !== undefined) this.execution.timeline = timeline
  }

  /** The record is in the history: readers receive the last events. */
  closeJournal (): void {
    this.#journal?.close()
  }

  /**
   * Resolves with the final record, once that is acknowledged. The promise is available at once, so that code which
   * learns of the execution in the turn of the event loop in which it begins can already wait for it.
   */
  get ended (): Promise<Execution> {
    return this.#ended ??= new Promise(resolve => { this.#resolveEnded = resolve })
  }

  /** Sets the promise that resolves with the final record. @returns `ended` */
  endBy (ended: Promise<Execution>): Promise<Execution> {
    this.#resolveEnded?.(ended)
    return this.#ended ??= ended
  }

  /** Aborts the run: the executor receives the abort signal and answers. Only the first reason counts. */
  end (ending: Ending): void {
    if (this.abort.aborted) return
    this.ending = ending
    this.abort.abort()
  }

  started (isolation: Isolation, ago_ms = 0): void {
    this.#reports.began(this, isolation, ago_ms)
  }

  progress (done: number, total: number | undefined, message: string | undefined): void {
    const report = { done, total, message: message === undefined ? undefined : this.clean(message) }
    this.#add('progress', {
      done, ...(total !== undefined && { total }), ...(report.message !== undefined && { message: report.message })
    })
    this.#bus.emit('progress', { execution_id: this.execution.id, ...report })
  }

  log (level: LogLevel, text: string): void {
    const line = { level, text: this.clean(text) }
    this.#add('log', line)
    this.#bus.emit('log', { execution_id: this.execution.id, ...line })
  }

  #write (stream: 'stdout' | 'stderr', text: string): void {
    this.#add(stream, { text })
    this.#bus.emit(stream === 'stdout' ? 'output' : 'stderr', { execution_id: this.execution.id, text })
  }

  #add (stream: StreamName, own: Parameters<Journal['add']>[3]): void {
    const { created_at, transitions } = this.execution
    this.journal.add(stream, Math.max(0, Date.now() - unixTime(created_at)), transitions.length, own)
  }

  ask (question: Question, signal: AbortSignal): Promise<JsonObject> {
    return (this.#asking ??= new Asking(this.job.questions, this.redactor)).ask(question, signal)
  }

  async approve (preview: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#reports.approve(this, preview)
  }

  clean (text: string): string {
    return this.redactor === undefined ? text : this.redactor.text(text)
  }
}
