import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What is asked of the process that selects; without a text, whether it could. */
export interface Selecting { text?: string, grep?: string, jmespath?: string }
/** What it answers: the text, why there is none, or which expression is not valid. */
export type Selection = { text: string } | { failure: string } | { invalid: string }
export interface Answer { selection: Selection, /** Whether its memory is so full that the next one should have another process. */ spent: boolean }

/** How long a selection may take, and how much memory its process may have, in milliseconds and mebibytes. */
const limits = { time_ms: 10_000, memoryMiB: 256, heapMiB: 96 }
/** How long a process without work is kept, in milliseconds: agents that select once do it again. */
const keep_ms = 60_000
/** The longest selection that is kept, in characters: an expression can make more out of little. */
export const selectedMax = 2_097_152
/** Selections that run at once, each in a process; others wait. */
const atOnceMax = 2
/** Selections that may wait. */
const waitingMax = 1_000

const idle: Selector[] = []
let running = 0
const waiting: (() => void)[] = []

/**
 * Applies an expression and a pattern of a caller's to a text, in a process of its own: both can be made to take any time
 * and memory, so that neither belongs in this one.
 * @param time_ms how long it may take, in milliseconds
 */
export async function select (asked: Selecting, time_ms: number = limits.time_ms): Promise<Selection> {
  if (running >= atOnceMax) {
    if (waiting.length >= waitingMax) return { failure: 'nothing was selected: too many selections are waiting' }
    await new Promise<void>(resolve => { waiting.push(resolve) })
  } else running++
  try {
    return await (idle.pop() ?? new Selector()).select(asked, time_ms)
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

/** A process that selects, one selection after another. It is kept while it answers, since to start one costs this process milliseconds. */
class Selector {
  readonly #child: ChildProcess
  #answer: ((answer: Answer) => void) | undefined
  #late: number | undefined
  #unused: NodeJS.Timeout | undefined

  constructor () {
    this.#child = fork(fileURLToPath(new URL('select-process.js', import.meta.url)), [String(limits.memoryMiB)], { env: {}, execArgv: [`--max-old-space-size=${limits.heapMiB}`], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    this.#child.on('message', (answer: Answer) => { this.#answer?.(answer) }) // our own program sent it
    this.#child.on('error', error => { this.#fail(error.message) })
    this.#child.on('exit', (status, signal) => {
      if (this.#late !== undefined) this.#fail(`it took longer than ${this.#late} ms`)
      else this.#fail(signal === null ? `its process ended with ${status}` : `it took more than ${limits.memoryMiB} MiB of memory`) // V8 ends by a signal too
    })
  }

  async select (asked: Selecting, time_ms: number): Promise<Selection> {
    clearTimeout(this.#unused)
    this.#hold(true)
    const limit = setTimeout(() => {
      this.#late = time_ms
      this.#child.kill('SIGKILL')
    }, time_ms)
    const { selection, spent } = await new Promise<Answer>(resolve => {
      this.#answer = resolve
      this.#child.send(asked, error => { if (error !== null) this.#child.kill('SIGKILL') })
    })
    clearTimeout(limit)
    this.#answer = undefined
    if (spent) this.#leave()
    else this.#keep()
    return selection
  }

  #keep (): void {
    this.#hold(false)
    idle.push(this)
    this.#unused = setTimeout(() => { this.#leave() }, keep_ms).unref()
  }

  #leave (): void {
    clearTimeout(this.#unused)
    const at = idle.indexOf(this)
    if (at !== -1) idle.splice(at, 1)
    if (this.#child.connected) this.#child.disconnect()
  }

  #fail (why: string): void {
    this.#leave()
    this.#answer?.({ selection: { failure: `nothing was selected: ${why}` }, spent: true })
  }

  /** Only one that works keeps this process from ending. */
  #hold (held: boolean): void {
    for (const handle of [this.#child, this.#child.channel]) handle?.[held ? 'ref' : 'unref']()
  }
}
