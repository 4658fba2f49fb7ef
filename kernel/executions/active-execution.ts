import type { Bus, LogLevel } from '../contracts/bus.ts'
import { Canceller } from '../lib/cancel.ts'
import type { TaskObserver } from '../contracts/executor.ts'
import type { Listed } from '../lib/list.ts'
import type { Job } from '../contracts/services.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { Execution, Isolation } from '../contracts/schemas.ts'
import type { SkillSecrets } from './skill-inputs.ts'

/** The reason for which the kernel ends a run: a cancel request, or an interruption. */
export type Ending = 'cancel' | 'interrupt'

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
   * Defined only when the bus has a listener for output, and only for a run without secrets: a secret can be divided
   * between two pieces of output, and the redactor would not find it.
   */
  output?: (text: string) => void
  readonly #bus: Bus
  readonly #begin: (active: ActiveExecution, isolation: Isolation, ago_ms: number) => void

  constructor (
    execution: Execution,
    job: Job,
    secrets: SkillSecrets | undefined,
    redactor: Redactor | undefined,
    bus: Bus,
    begin: (active: ActiveExecution, isolation: Isolation, ago_ms: number) => void
  ) {
    this.execution = execution
    this.job = job
    this.secrets = secrets
    this.redactor = redactor
    this.#bus = bus
    this.#begin = begin
    if (redactor === undefined && bus.has('output')) {
      this.output = text => { bus.emit('output', { execution_id: execution.id, text }) }
    }
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

  started (isolation: Isolation, ago_ms = 0): void {
    this.#begin(this, isolation, ago_ms)
  }

  progress (done: number, total: number | undefined, message: string | undefined): void {
    this.#bus.emit(
      'progress',
      { execution_id: this.execution.id, done, total, message: message === undefined ? undefined : this.clean(message) }
    )
  }

  log (level: LogLevel, text: string): void {
    this.#bus.emit('log', { execution_id: this.execution.id, level, text: this.clean(text) })
  }

  clean (text: string): string {
    return this.redactor === undefined ? text : this.redactor.text(text)
  }
}
