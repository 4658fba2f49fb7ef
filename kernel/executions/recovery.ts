import { messageOf } from '../lib/errors.ts'
import type { Executions } from './executions.ts'
import type { Logger } from '../lib/log.ts'
import { within } from '../lib/within.ts'

/** Interval at which a long-lived process looks for executions whose process died, in milliseconds. */
const every_ms = 5_000
/** How long the start waits for the first recovery, in milliseconds. The rest is done while the kernel serves. */
const first_ms = 1_000

/** Closes the executions whose process died, at the start and every few seconds. */
export class Recovery {
  readonly #executions: Executions
  readonly #log: Logger
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor (executions: Executions, log: Logger) {
    this.#executions = executions
    this.#log = log
  }

  /** Starts the recovery. Resolves when the first recovery has ended, or after `first_ms`. */
  async start (): Promise<void> {
    this.#timer = setInterval(() => { void this.#look() }, every_ms).unref()
    await within(first_ms, this.#look())
  }

  /** Stops the recovery. Resolves when a running recovery has ended. */
  async close (): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  /** Runs one recovery at a time. Never rejects: when the history can't be written now, the next interval retries. */
  #look (): Promise<void> {
    return this.#running ??= this.#recover().finally(() => { this.#running = undefined })
  }

  async #recover (): Promise<void> {
    try {
      const interrupted = await this.#executions.recover(this.#stop.signal)
      if (interrupted === 0) return
      this.#log.warn({ interrupted }, 'executions of a process that died were closed as interrupted')
    } catch (error) {
      const reason = 'executions of processes that died could not be closed; it is tried again'
      this.#log.warn({ error: messageOf(error) }, reason)
    }
  }
}
