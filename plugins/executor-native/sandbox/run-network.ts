import type { Logger, Outcome, TaskObserver } from '../../../kernel/index.ts'
import type { Environment } from '../protocol.ts'

/** How a command reaches the places in its skill's list. */
export interface RunPass {
  /** By which variables programs find the way. */
  readonly variables: Environment
  /** Ends all connections. */
  end (): void
}

/** What a run may do with the network, and what was refused. */
export class RunNetwork {
  /** Absent where no list says what it may reach. */
  pass: RunPass | undefined
  readonly #name: string
  readonly #observer: TaskObserver
  readonly #log: Logger
  readonly #refusals: string[] = []

  /** @param name the skill and tool, such as `git:log` */
  constructor (name: string, observer: TaskObserver, log: Logger) {
    this.#name = name
    this.#observer = observer
    this.#log = log
  }

  /** Tells who follows the run, and the log of the server, what was refused. */
  refused (message: string): void {
    this.#refusals.push(message)
    this.#log.info({ tool: this.#name }, message)
    this.#observer.log('warn', message)
  }

  /** Says in the record of a failed run what was refused: programs often say no more than that the proxy refused. */
  explain (outcome: Outcome): Outcome {
    if (outcome.status !== 'failed' || this.#refusals.length === 0) return outcome
    const { message, details } = outcome.error
    return { ...outcome, error: { message, details: { ...details, network: this.#refusals } } }
  }
}
