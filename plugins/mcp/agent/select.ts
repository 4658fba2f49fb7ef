import { fileURLToPath } from 'node:url'
import type { Selecting, Selection } from './selection.ts'
import { Selector } from './selector.ts'

/** How long a selection may take, in milliseconds. */
const time_max_ms = 10_000
/** How long a process without work is kept, in milliseconds: agents that select once do it again. */
const keep_ms = 60_000
/** Selections that run at once, each in a process; others wait. */
const atOnceMax = 2
/** Selections that may wait. */
const waitingMax = 1_000

const program = fileURLToPath(new URL('select-process.js', import.meta.url))

/** The processes that apply expressions of agents, and who waits for them. They end when it is closed. */
export class Selections {
  readonly #program: string
  readonly #selectors = new Set<Selector>()
  readonly #idle: { selector: Selector, timer: NodeJS.Timeout }[] = []
  readonly #waiting: (() => void)[] = []
  #running = 0
  #closed = false

  /** @param path of the program that selects, for tests */
  constructor (path: string = program) {
    this.#program = path
  }

  /**
   * Applies an expression and a pattern of a caller's to a text, in a process of its own: both can be made to take any
   * time and memory, so that neither belongs in this one.
   * @param time_ms how long it may take, in milliseconds
   */
  async select (asked: Selecting, time_ms: number = time_max_ms): Promise<Selection> {
    if (this.#running >= atOnceMax) {
      if (this.#waiting.length >= waitingMax) return { failure: 'nothing was selected: too many selections are waiting' }
      await new Promise<void>(resolve => { this.#waiting.push(resolve) })
    } else this.#running++
    try {
      if (this.#closed) return { failure: `nothing was selected: ${stopping}` }
      const selector = this.#take()
      const { selection, spent } = await selector.select(asked, time_ms)
      if (spent) void selector.end('its memory was full')
      else this.#keep(selector)
      return selection
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  /** Ends all processes; what they select, and what waits, fails. Resolves when none of them is there any more. */
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
    const selector = new Selector(this.#program)
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
