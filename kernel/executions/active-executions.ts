import type { Bus } from '../contracts/bus.ts'
import type { Storage } from '../contracts/storage.ts'
import { List } from '../lib/list.ts'
import { thisProcess } from '../lib/process-identity.ts'
import type { ActiveExecution } from './active-execution.ts'
import { isFinal } from './transitions.ts'

/**
 * How long an execution whose id nobody knows is kept from the storage: most end sooner, and are written once. In
 * milliseconds.
 */
const unsaved_ms = 20

/** The executions of this process that have not ended, and when each is saved for the first time. */
export class ActiveExecutions {
  readonly #storage: Storage
  readonly #bus: Bus
  /** Those that the storage does not have yet, the oldest first: nobody knows their ids. */
  readonly #unsaved = new List<ActiveExecution>()
  /** All others, by id. */
  readonly #saved = new Map<string, ActiveExecution>()
  #saver: NodeJS.Timeout | undefined

  constructor (storage: Storage, bus: Bus) {
    this.#storage = storage
    this.#bus = bus
  }

  /** @param isKnown whether somebody will know its id before it ends: then it is saved at once */
  add (active: ActiveExecution, isKnown: boolean): void {
    if (isKnown || this.#bus.has('transition')) this.#save(active)
    else this.#saveLater(active)
  }

  /** Saves the newest state of one that the storage has already. */
  saveAgain (active: ActiveExecution): void {
    if (!this.#unsaved.has(active)) this.#save(active)
  }

  /** One whose final record was saved. */
  remove (active: ActiveExecution): void {
    if (!this.#unsaved.delete(active)) this.#saved.delete(active.execution.id)
  }

  get (id: string): ActiveExecution | undefined {
    const saved = this.#saved.get(id)
    if (saved !== undefined) return saved
    for (const active of this.#unsaved) if (active.execution.id === id) return active
    return undefined
  }

  /** One that other processes can know of: the storage has it. */
  getSaved (id: string): ActiveExecution | undefined {
    return this.#saved.get(id)
  }

  /** Whether there is one that other processes can know of. */
  get anySaved (): boolean {
    return this.#saved.size > 0
  }

  all (): ActiveExecution[] {
    return [...this.#unsaved, ...this.#saved.values()]
  }

  async allEnded (): Promise<void> {
    await Promise.allSettled(this.all().map(active => active.ended))
  }

  #save (active: ActiveExecution): void {
    this.#unsaved.delete(active)
    this.#saved.set(active.execution.id, active)
    this.#storage.save({ execution: active.execution, owner: thisProcess() })
  }

  /** Nobody can ask for it, unless it takes a while. */
  #saveLater (active: ActiveExecution): void {
    this.#unsaved.push(active)
    this.#saver ??= setInterval(() => { this.#saveOld() }, unsaved_ms).unref()
  }

  #saveOld (): void {
    const before_ms = performance.now() - unsaved_ms
    for (const active of this.#unsaved) {
      if (active.accepted_ms > before_ms) return
      // One that has ended is saved already, and only waits for its commit.
      if (!isFinal(active.execution.status)) this.#save(active)
    }
    if (this.#unsaved.size > 0) return
    clearInterval(this.#saver)
    this.#saver = undefined
  }
}
