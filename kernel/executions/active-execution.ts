import type { Bus, LogLevel } from '../contracts/bus.ts'
import { Canceller } from '../lib/cancel.ts'
import type { TaskObserver } from '../contracts/executor.ts'
import type { Listed } from '../lib/list.ts'
import type { Job } from '../contracts/services.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { Execution, Isolation } from '../contracts/schemas.ts'
import type { SkillSecrets } from './skill-inputs.ts'

/** Why a run is ended from outside. */
export type Ending = 'cancel' | 'interrupt'

/** An execution that has not ended, in this process; and what its executor tells of it. */
export class ActiveExecution implements TaskObserver, Listed<ActiveExecution> {
  readonly execution: Execution
  readonly job: Job
  readonly abort = new Canceller()
  /** What the skill is given; undefined where it declares nothing. */
  readonly secrets: SkillSecrets | undefined
  /** For everything that is kept or sent of it; undefined where there is no secret. */
  readonly redactor: Redactor | undefined
  #ended: Promise<Execution> | undefined
  #resolveEnded: ((ended: Promise<Execution>) => void) | undefined
  /** performance.now() when it was accepted. */
  readonly accepted_ms = performance.now()
  ending: Ending = 'cancel'
  /** performance.now() at its start, once it runs. */
  began_ms: number | undefined
  list: object | undefined
  previous: ActiveExecution | undefined
  next: ActiveExecution | undefined
  /** Only where somebody listens; and not with secrets: one may lie across two pieces, where no redactor finds it. */
  output?: (text: string) => void
  readonly #bus: Bus
  readonly #begin: (active: ActiveExecution, isolation: Isolation, ago_ms: number) => void

  constructor (execution: Execution, job: Job, secrets: SkillSecrets | undefined, redactor: Redactor | undefined, bus: Bus, begin: (active: ActiveExecution, isolation: Isolation, ago_ms: number) => void) {
    this.execution = execution
    this.job = job
    this.secrets = secrets
    this.redactor = redactor
    this.#bus = bus
    this.#begin = begin
    if (redactor === undefined && bus.has('output')) this.output = text => { bus.emit('output', { execution_id: execution.id, text }) }
  }

  /**
   * The final record, once it is acknowledged. Whoever is told of the execution in the turn in which it begins can wait
   * for it already.
   */
  get ended (): Promise<Execution> {
    return this.#ended ??= new Promise(resolve => { this.#resolveEnded = resolve })
  }

  /** Says what ends it. @returns `ended` */
  endBy (ended: Promise<Execution>): Promise<Execution> {
    this.#resolveEnded?.(ended)
    return this.#ended ??= ended
  }

  started (isolation: Isolation, ago_ms = 0): void {
    this.#begin(this, isolation, ago_ms)
  }

  progress (done: number, total: number | undefined, message: string | undefined): void {
    this.#bus.emit('progress', { execution_id: this.execution.id, done, total, message: message === undefined ? undefined : this.clean(message) })
  }

  log (level: LogLevel, text: string): void {
    this.#bus.emit('log', { execution_id: this.execution.id, level, text: this.clean(text) })
  }

  clean (text: string): string {
    return this.redactor === undefined ? text : this.redactor.text(text)
  }
}
