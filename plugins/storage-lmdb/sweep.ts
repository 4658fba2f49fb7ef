import { setImmediate } from 'node:timers/promises'
import { messageOf, type Logger } from '../../kernel/index.ts'
import type { Environment } from './environment.ts'
import type { Keys } from './keys.ts'
import type { Pruner } from './prune.ts'

/** The time between two searches for executions that are too old and for data of other processes, in milliseconds. */
const every_ms = 60_000
/**
 * The characters that this process writes before the bytes are measured again: a share of the limit, up to a maximum.
 */
const writtenShare = 1 / 16
const writtenMax = 4 * 1_048_576

/**
 * Removes executions that are too old or above the limits, and keys that have expired, in small steps, so that commits
 * can run between them.
 */
export class Sweep {
  readonly #env: Environment
  readonly #pruner: Pruner
  readonly #keys: Keys
  readonly #log: Logger
  readonly #lookAfter: number
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #written = 0

  /** @param bytes_max the limit; 0: none */
  constructor (env: Environment, pruner: Pruner, keys: Keys, bytes_max: number, log: Logger) {
    this.#env = env
    this.#pruner = pruner
    this.#keys = keys
    this.#log = log
    this.#lookAfter = bytes_max === 0 ? Number.POSITIVE_INFINITY : Math.min(bytes_max * writtenShare, writtenMax)
  }

  /** Starts a sweep now and every minute. */
  start (): void {
    this.#timer = setInterval(() => { this.#sweepSoon() }, every_ms).unref()
    this.#sweepSoon()
  }

  /** Must be called with the number of characters that a commit wrote. */
  wrote (characters: number): void {
    this.#written += characters
    if (this.#written >= this.#lookAfter) this.#sweepSoon()
  }

  /** Resolves when a running sweep has ended. */
  async close (): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  #sweepSoon (): void {
    if (this.#stop.signal.aborted) return
    this.#written = 0
    // The field is cleared after the assignment, even if the sweep ends at once.
    this.#running ??= this.#sweep().finally(() => { this.#running = undefined })
  }

  async #sweep (): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (this.#pruner.hasTooMany() || this.#keys.hasExpired())) {
        await this.#env.transact(() => {
          this.#pruner.sweep()
          this.#keys.sweep()
        })
        await setImmediate()
      }
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the history could not be pruned')
    }
  }
}
