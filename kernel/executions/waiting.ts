import type { Execution } from '../contracts/schemas.ts'
import type { Storage } from '../contracts/storage.ts'
import type { CancelSignal } from '../lib/cancel.ts'
import { SkilletError } from '../lib/errors.ts'
import type { ActiveExecutions } from './active-executions.ts'
import { isFinal } from './transitions.ts'

/** How exact the end of a wait is, in milliseconds. One timer serves all waits. */
const tick_ms = 100
/** How many executions of other processes are looked up in a tick, one read each, however many wait for them. */
const readsPerTick = 32
/** How many calls may wait at once. */
const waitsMax = 100_000

interface Wait {
  readonly topic: Topic
  /** The tick in which the wait is over. */
  readonly tick: number
  readonly resolve: (execution: Execution | undefined) => void
}

/** An execution for which calls wait. */
interface Topic {
  readonly id: string
  readonly waits: Set<Wait>
  /** The newest record that was read, for an execution of another process. */
  latest: Execution | undefined
}

/**
 * Calls that wait for the end of executions. A wait costs an entry in two tables: the end of an execution of this
 * process ends all waits for it, executions of other processes are read in turn, and one timer looks whose time is
 * over.
 */
export class Waiting {
  readonly #storage: Pick<Storage, 'get'>
  readonly #active: Pick<ActiveExecutions, 'get'>
  readonly #topics = new Map<string, Topic>()
  /** The executions of other processes, in the order in which they are read. */
  readonly #foreign = new Set<Topic>()
  readonly #byTick = new Map<number, Set<Wait>>()
  #waits = 0
  #tick = 0
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  #isClosed = false

  constructor (storage: Pick<Storage, 'get'>, active: Pick<ActiveExecutions, 'get'>) {
    this.#storage = storage
    this.#active = active
  }

  /**
   * Waits for the end of an execution that is not known to have ended.
   * @returns its record at the end of the wait, perhaps not final; undefined when it is not known
   * @throws SkilletError OVERLOADED when too many calls wait
   */
  async wait (id: string, wait_ms: number, signal: CancelSignal): Promise<Execution | undefined> {
    if (this.#isClosed || signal.aborted) return undefined
    if (this.#waits >= waitsMax) {
      throw new SkilletError('OVERLOADED', `${this.#waits} calls wait for executions already; try again later`)
    }
    return await new Promise(resolve => {
      const topic = this.#topicOf(id)
      const tick = this.#tick + Math.max(1, Math.ceil(wait_ms / tick_ms))
      const wait: Wait = { topic, tick, resolve }
      this.#waits++
      topic.waits.add(wait)
      const due = this.#byTick.get(tick)
      if (due === undefined) this.#byTick.set(tick, new Set([wait]))
      else due.add(wait)
      signal.addEventListener('abort', () => { this.#end(wait, undefined) }, { once: true })
      this.#timer ??= setInterval(() => { this.#onTick() }, tick_ms)
    })
  }

  /** Ends all waits. */
  close (): void {
    this.#isClosed = true
    for (const topic of this.#topics.values()) this.#endAll(topic, this.#newest(topic))
  }

  #topicOf (id: string): Topic {
    const known = this.#topics.get(id)
    if (known !== undefined) return known
    const topic: Topic = { id, waits: new Set(), latest: undefined }
    this.#topics.set(id, topic)
    const active = this.#active.get(id)
    if (active === undefined) this.#foreign.add(topic)
    else {
      const ended = (): void => { this.#endAll(topic, active.execution) }
      active.ended.then(ended, ended)
    }
    return topic
  }

  /** The record as this process knows it. */
  #newest ({ id, latest }: Topic): Execution | undefined {
    return this.#active.get(id)?.execution ?? latest
  }

  #end (wait: Wait, execution: Execution | undefined): void {
    const { topic } = wait
    if (!topic.waits.delete(wait)) return
    this.#waits--
    const due = this.#byTick.get(wait.tick)
    due?.delete(wait)
    if (due?.size === 0) this.#byTick.delete(wait.tick)
    if (topic.waits.size === 0) {
      if (this.#topics.get(topic.id) === topic) this.#topics.delete(topic.id)
      this.#foreign.delete(topic)
    }
    if (this.#waits === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    wait.resolve(execution)
  }

  #endAll (topic: Topic, execution: Execution | undefined): void {
    for (const wait of topic.waits) this.#end(wait, execution)
  }

  #onTick (): void {
    this.#tick++
    for (const wait of this.#byTick.get(this.#tick) ?? []) this.#end(wait, this.#newest(wait.topic))
    if (!this.#isReading && this.#foreign.size > 0) void this.#read()
  }

  /** Reads the next executions of other processes. */
  async #read (): Promise<void> {
    this.#isReading = true
    try {
      for (const topic of [...this.#foreign].slice(0, readsPerTick)) {
        const stored = await this.#storage.get(topic.id)
        if (!this.#foreign.delete(topic)) continue // nobody waits any longer
        topic.latest = stored?.execution
        if (stored === undefined || isFinal(stored.execution.status)) this.#endAll(topic, stored?.execution)
        else this.#foreign.add(topic) // behind the others
      }
    } catch {
      // The history can't be read now; the next tick tries again.
    } finally {
      this.#isReading = false
    }
  }
}
