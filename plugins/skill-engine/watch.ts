import { messageOf, type Logger } from '../../kernel/index.ts'

/** Looks now and then whether a stamp has changed. */
export class Watch {
  readonly #stamp: () => Promise<string>
  readonly #every_ms: number
  readonly #log: Logger
  #seen: string | undefined

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

  /**
   * @param changed called when the stamp is another one than at the last look
   * @returns what stops it
   */
  start (changed: () => void): () => void {
    const watching = { stopped: false }
    let timer: NodeJS.Timeout | undefined
    const again = (): void => {
      if (!watching.stopped) timer = setTimeout(() => { void check() }, this.#every_ms).unref()
    }
    const check = async (): Promise<void> => {
      await this.#check(changed, watching)
      again()
    }
    if (this.#every_ms > 0) again()
    return () => {
      watching.stopped = true
      clearTimeout(timer)
    }
  }

  async #check (changed: () => void, watching: { readonly stopped: boolean }): Promise<void> {
    try {
      const stamp = await this.#stamp()
      if (watching.stopped || stamp === this.#seen) return
      this.#seen = stamp
      changed()
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the directories of the Skill Engine could not be looked at')
    }
  }
}
