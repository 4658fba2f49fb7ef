import { setImmediate } from 'node:timers/promises'
import { messageOf, type Logger } from '../../kernel/index.ts'
import type { Environment } from './environment.ts'
import type { Pruner } from './prune.ts'

/** How often executions past their age are looked for, and what other processes wrote. */
const every_ms = 60_000
/** What this process writes before the bytes are looked at again: a part of the limit, at most so many characters. */
const writtenShare = 1 / 16
const writtenMax = 4 * 1_048_576

/** Removes what is too old or too much, in steps that leave room for commits. */
export class Sweep {
  readonly #env: Environment
  readonly #pruner: Pruner
  readonly #log: Logger
  readonly #lookAfter: number
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #written = 0

  /** @param bytes_max the limit; 0: none */
  constructor (env: Environment, pruner: Pruner, bytes_max: number, log: Logger) {
    this.#env = env
    this.#pruner = pruner
    this.#log = log
    this.#lookAfter = bytes_max === 0 ? Number.POSITIVE_INFINITY : Math.min(bytes_max * writtenShare, writtenMax)
  }

  /** Sweeps now, and every minute. */
  start (): void {
    this.#timer = setInterval(() => { this.#sweepSoon() }, every_ms).unref()
    this.#sweepSoon()
  }

  /** To be told how many characters a commit wrote. */
  wrote (characters: number): void {
    this.#written += characters
    if (this.#written >= this.#lookAfter) this.#sweepSoon()
  }

  /** Resolves when it has ended. */
  async close (): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  #sweepSoon (): void {
    if (this.#stop.signal.aborted) return
    this.#written = 0
    // Forgotten after the assignment, however soon it ends.
    this.#running ??= this.#sweep().finally(() => { this.#running = undefined })
  }

  async #sweep (): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && this.#pruner.hasTooMany()) {
        await this.#env.transact(() => { this.#pruner.sweep() })
        await setImmediate()
      }
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the history could not be pruned')
    }
  }
}
