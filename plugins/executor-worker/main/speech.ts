import { speech, type FromThread, type Of } from '../shared/protocol.ts'

/**
 * What a thread may still say of a run or a batch: each thing about a run that it has, in its place, and no more of it
 * than there can be.
 */
export class Speech {
  readonly #first: number
  /** How many runs it has; undefined when it has one alone. */
  readonly #count: number | undefined
  readonly #began_ms = performance.now()
  readonly #once = new Set<FromThread['type']>()
  #lines = 0
  #progress = 0

  constructor (message: Of<'run'> | Of<'batch'>) {
    this.#first = message.run
    this.#count = message.type === 'batch' ? message.tool_of.length : undefined
  }

  /** Takes note of a message. @returns whether it may have been sent */
  allows (message: Exclude<FromThread, Of<'pong'> | Of<'stray'> | Of<'clean'>>): boolean {
    const { type, run } = message
    const runs = this.#count ?? 1
    if (run < this.#first || run >= this.#first + runs) return false
    switch (type) {
      case 'loading':
      case 'started': return this.#count === undefined && this.#isFirst(type)
      case 'waiting': return this.#isFirst(type)
      case 'log': return ++this.#lines <= runs * (speech.lines + 1)
      // The first and the last of each, and those between by the clock; twice, since clocks and timers are not exact.
      case 'progress':
        return ++this.#progress <= 2 * (runs + (performance.now() - this.#began_ms) / speech.progress_ms + 1)
      case 'told': return this.#count !== undefined
      case 'ended': return run === this.#first && (message.result.kind === 'board') === (this.#count !== undefined)
    }
  }

  #isFirst (type: FromThread['type']): boolean {
    const wasSent = this.#once.has(type)
    this.#once.add(type)
    return !wasSent
  }
}
