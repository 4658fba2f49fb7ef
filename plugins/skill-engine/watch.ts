import { messageOf, type Logger } from '../../kernel/index.ts'

/** Looks now and then whether a stamp has changed. */
export class Watch {
  readonly #stamp: () => Promise<string>
  readonly #every_ms: number
  readonly #log: Logger
  #seen: string | undefined
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  /** @param every_ms 0: never */
  constructor (stamp: () => Promise<string>, every_ms: number, log: Logger) {
    this.#stamp = stamp
    this.#every_ms = every_ms
    this.#log = log
  }

  /** Remembers the present stamp. */
  async look (): Promise<void> {
    if (this.#every_ms > 0) this.#seen = await this.#stamp()
  }

  /** @param changed called when the stamp is another one than at the last look */
  start (changed: () => void): void {
    if (this.#every_ms === 0) return
    this.#stopped = false
    this.#again(changed)
  }

  stop (): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #again (changed: () => void): void {
    if (this.#stopped) return
    const check = async (): Promise<void> => {
      await this.#check(changed)
      this.#again(changed)
    }
    this.#timer = setTimeout(() => { void check() }, this.#every_ms).unref()
  }

  async #check (changed: () => void): Promise<void> {
    try {
      const stamp = await this.#stamp()
      if (this.#stopped || stamp === this.#seen) return
      this.#seen = stamp
      changed()
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the directories of the Skill Engine could not be looked at')
    }
  }
}
