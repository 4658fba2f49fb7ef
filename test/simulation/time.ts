/** What the simulation replaces: the clocks and timers that all code finds in the global object. */
const real = { setTimeout, setInterval, clearTimeout, clearInterval, now: Date.now, performanceNow: performance.now }
const turn = setImmediate

/** When a history begins, in Unix milliseconds. */
const begin_ms = Date.UTC(2040, 0, 1)

interface Timer {
  due_ms: number
  /** Timers that are due at the same time run in the order in which they were set. */
  order: number
  every_ms: number | undefined
  callback: () => void
  unref (): Timer
}

/**
 * Clocks and timers that only `advance` moves. While they are installed, a program that uses no input or output does
 * the same in each run.
 */
export class SimulatedTime {
  /** Milliseconds since the begin of the history. */
  now_ms = 0
  readonly #timers = new Set<Timer>()
  #order = 0

  /** Replaces the global clocks and timers. The returned function puts the real ones back. */
  install (): () => void {
    const set = (callback: () => void, ms = 0): Timer => this.#set(callback, ms, undefined)
    const repeat = (callback: () => void, ms = 0): Timer => this.#set(callback, ms, Math.max(1, ms))
    const clear = (timer: Timer | undefined): void => { if (timer !== undefined) this.#timers.delete(timer) }
    Object.assign(globalThis, { setTimeout: set, setInterval: repeat, clearTimeout: clear, clearInterval: clear })
    Date.now = () => begin_ms + this.now_ms
    Object.defineProperty(performance, 'now', { configurable: true, writable: true, value: () => this.now_ms })
    return () => {
      const { now, performanceNow, ...timers } = real
      Object.assign(globalThis, timers)
      Date.now = now
      Object.defineProperty(performance, 'now', { configurable: true, writable: true, value: performanceNow })
    }
  }

  /** Resolves when no promise has anything left to do. */
  async settle (): Promise<void> {
    await new Promise<void>(resolve => { turn(resolve) })
  }

  /** Lets time pass, in milliseconds, and calls each timer when it is due. */
  async advance (ms: number): Promise<void> {
    const until_ms = this.now_ms + ms
    for (let timer = this.#first(); timer !== undefined && timer.due_ms <= until_ms; timer = this.#first()) {
      this.now_ms = Math.max(this.now_ms, timer.due_ms)
      if (timer.every_ms === undefined) this.#timers.delete(timer)
      else timer.due_ms = this.now_ms + timer.every_ms
      timer.callback()
      await this.settle()
    }
    this.now_ms = until_ms
  }

  #first (): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (first === undefined || timer.due_ms < first.due_ms) first = timer
      else if (timer.due_ms === first.due_ms && timer.order < first.order) first = timer
    }
    return first
  }

  #set (callback: () => void, ms: number, every_ms: number | undefined): Timer {
    const timer = { due_ms: this.now_ms + ms, order: this.#order++, every_ms, callback, unref: () => timer }
    this.#timers.add(timer)
    return timer
  }
}
