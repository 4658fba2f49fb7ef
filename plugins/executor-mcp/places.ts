/** A limited number of places for calls; who finds none waits, first come, first served. */
export class Places {
  readonly #waiting = new Set<() => void>()
  #free: number

  constructor (count: number) {
    this.#free = count
  }

  /** Takes a place. @returns a function that leaves it, once; undefined when the signal aborted first */
  async enter (signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined
    if (this.#free === 0) {
      const entered = await new Promise<boolean>(resolve => {
        const enter = (): void => {
          signal.removeEventListener('abort', give)
          resolve(true)
        }
        const give = (): void => {
          this.#waiting.delete(enter)
          resolve(false)
        }
        this.#waiting.add(enter)
        signal.addEventListener('abort', give, { once: true })
      })
      if (!entered) return undefined
    } else {
      this.#free--
    }
    let left = false
    return () => {
      if (!left) this.#leave()
      left = true
    }
  }

  /** Gives the place to the next one. */
  #leave (): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free++
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
