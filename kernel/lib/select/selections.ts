import { fileURLToPath } from 'node:url'
import type { Selecting, Selection } from './selection.ts'
import { Selector, type SelectorLimits } from './selector.ts'

/** The time limit of a selection, in milliseconds. */
const time_max_ms = 10_000
/** How long an idle process is kept, in milliseconds: an agent that selects once often selects again. */
const keep_ms = 60_000
/** The number of selections that run at the same time, each in a process; further selections wait. */
const atOnceMax = 2
/** The number of selections that may wait. */
const waitingMax = 1_000

const program = fileURLToPath(new URL('select-process.js', import.meta.url))

/** The processes that apply the agents' expressions, and the queue of selections. The processes end at `close`. */
export class Selections {
  readonly #program: string
  readonly #limits: SelectorLimits
  readonly #selectors = new Set<Selector>()
  readonly #idle: { selector: Selector, timer: NodeJS.Timeout }[] = []
  readonly #waiting: (() => void)[] = []
  #running = 0
  #closed = false

  /**
   * @param limits of each process; the default is for texts of some mebibytes
   * @param path path of the program that selects; tests pass their own
   */
  constructor (limits: SelectorLimits = { memoryMiB: 256, heapMiB: 96 }, path: string = program) {
    this.#limits = limits
    this.#program = path
  }

  /**
   * Applies a caller's expression and pattern to a text, in a separate process: both can be written so that they take
   * any amount of time and memory, so neither may run in this process.
   * @param time_ms the time limit, in milliseconds
   */
  async select (request: Selecting, time_ms: number = time_max_ms): Promise<Selection> {
    if (this.#running >= atOnceMax) {
      if (this.#waiting.length >= waitingMax) {
        return { failure: 'nothing was selected: too many selections are waiting' }
      }
      await new Promise<void>(resolve => { this.#waiting.push(resolve) })
    } else this.#running++
    try {
      if (this.#closed) return { failure: `nothing was selected: ${stopping}` }
      const selector = this.#take()
      const { selection, spent } = await selector.select(request, time_ms)
      if (spent) void selector.end('its memory was full')
      else this.#keep(selector)
      return selection
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  /** Ends all processes; selections that run or wait are rejected. Resolves when all processes have ended. */
  async close (): Promise<void> {
    this.#closed = true
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer)
    await Promise.all([...this.#selectors].map(selector => selector.end(stopping)))
  }

  #take (): Selector {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      clearTimeout(kept.timer)
      if (kept.selector.usable) return kept.selector
    }
    const selector = new Selector(this.#program, this.#limits)
    this.#selectors.add(selector)
    void selector.gone.finally(() => { this.#selectors.delete(selector) })
    return selector
  }

  #keep (selector: Selector): void {
    if (this.#closed || !selector.usable) return
    const timer = setTimeout(() => {
      this.#idle.splice(this.#idle.findIndex(kept => kept.selector === selector), 1)
      void selector.end('it was not used')
    }, keep_ms).unref()
    this.#idle.push({ selector, timer })
  }
}

const stopping = 'the server is stopping'
