import type { Logger, Outcome, TaskObserver } from '../../../kernel/index.ts'

/** What a run wanted to reach, and its skill's list does not name. */
export class Refusals {
  readonly #name: string
  readonly #tell: (message: string) => void
  readonly #log: Logger
  readonly #messages: string[] = []

  /**
   * @param name the skill and tool, such as `git:log`
   * @param observer follows the run
   * @param log of the server
   */
  constructor (name: string, observer: Pick<TaskObserver, 'log'>, log: Logger) {
    this.#name = name
    this.#tell = message => { observer.log('warn', message) }
    this.#log = log
  }

  /** Tells who follows the run, and the log of the server, what was refused. */
  add (message: string): void {
    this.#messages.push(message)
    this.#log.info({ tool: this.#name }, message)
    this.#tell(message)
  }

  /** Says in the record of a failed run what was refused: programs often say no more than that the proxy refused. */
  explain (outcome: Outcome): Outcome {
    if (outcome.status !== 'failed' || this.#messages.length === 0) return outcome
    const { message, details } = outcome.error
    return { ...outcome, error: { message, details: { ...details, network: this.#messages } } }
  }
}
