import { setTimeout as sleep } from 'node:timers/promises'
import { within, type Logger } from '../../kernel/index.ts'
import { ask, type Engine } from './engine.ts'

/** How long the engine may take to remove containers, in milliseconds. */
const remove_ms = 20_000
/**
 * When a container is removed again, in milliseconds after the time before: an engine may still be making the container
 * that it was asked to remove, or be busy.
 */
const pauses_ms = [1_000, 5_000]
/** The most containers that one command removes. */
const batchMax = 50
/** How long the close waits for containers to be removed, in milliseconds. */
const close_ms = 8_000

/** Whether a container was there and is removed; undefined when the engine failed. */
type Removed = boolean | undefined
interface Wanted { engine: Engine, name: string, done: (removed: Removed) => void }

/** Removes containers, running or not: some with each command, and one command at a time. */
export class Remover {
  readonly #log: Logger
  readonly #waiting = new Set<Wanted>()
  readonly #open = new Set<Promise<void>>()
  readonly #closed = new AbortController()
  #busy = false

  constructor (log: Logger) {
    this.#log = log
  }

  /**
   * Removes a container, which may not exist. Resolves after the first try.
   * @param again whether it may come into being later, so that it is looked for again where it was not found
   */
  async remove (engine: Engine, name: string, again: boolean): Promise<void> {
    const first = this.#try(engine, name)
    const whole = this.#persist(engine, name, first, again).finally(() => { this.#open.delete(whole) })
    this.#open.add(whole)
    await first
  }

  /** Resolves when all containers are removed, or when that took too long. They are left to the next start then. */
  async close (): Promise<void> {
    this.#closed.abort()
    await within(close_ms, Promise.all(this.#open))
  }

  async #persist (engine: Engine, name: string, first: Promise<Removed>, again: boolean): Promise<void> {
    let removed = await first
    for (const pause_ms of pauses_ms) {
      if (removed === true || (removed === false && !again)) return
      await sleep(pause_ms, undefined, { signal: this.#closed.signal }).catch(() => {}) // the close does not wait
      removed = await this.#try(engine, name)
    }
    if (removed !== undefined) return
    this.#log.error({ container: name }, `a container could not be removed; remove it: ${engine.name} rm -f ${name}`)
  }

  #try (engine: Engine, name: string): Promise<Removed> {
    return new Promise(resolve => {
      this.#waiting.add({ engine, name, done: resolve })
      void this.#work()
    })
  }

  async #work (): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) await this.#batch(first.engine)
    } finally {
      this.#busy = false
    }
  }

  async #batch (engine: Engine): Promise<void> {
    const batch = [...this.#waiting].filter(wanted => wanted.engine === engine).slice(0, batchMax)
    for (const wanted of batch) this.#waiting.delete(wanted)
    const names = [...new Set(batch.map(({ name }) => name))]
    const { stdout, stderr, code } = await ask(engine, ['rm', '--force', '--volumes', ...names], remove_ms)
    const gone = new Set(stdout.split('\n').map(line => line.trim()))
    for (const { name, done } of batch) {
      // For a container that does not exist, docker exits with 1 and podman with 0.
      const isAbsent = code === 0 || /no such container/i.test(stderr)
      done(gone.has(name) ? true : isAbsent ? false : undefined)
    }
  }
}
