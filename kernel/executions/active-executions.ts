import type { Bus } from '../contracts/bus.ts'
import type { Storage } from '../contracts/storage.ts'
import { List } from '../lib/list.ts'
import type { Processes } from '../lib/process-identity.ts'
import type { ActiveExecution } from './active-execution.ts'
import { isFinal } from './transitions.ts'

/**
 * How long an execution stays unsaved when its id is not known outside the kernel, in milliseconds. Most executions end
 * earlier, and are then written only once.
 */
const unsaved_ms = 20

/** The unfinished executions of this process. This class decides when an execution is saved for the first time. */
export class ActiveExecutions {
  readonly #storage: Storage
  readonly #bus: Bus
  readonly #processes: Processes
  /** Executions that the storage does not have yet, the oldest first. Their ids are not known outside the kernel. */
  readonly #unsaved = new List<ActiveExecution>()
  /** The executions that the storage has, by id. */
  readonly #saved = new Map<string, ActiveExecution>()
  #saver: NodeJS.Timeout | undefined

  constructor (storage: Storage, bus: Bus, processes: Processes) {
    this.#storage = storage
    this.#bus = bus
    this.#processes = processes
  }

  /** @param isKnown whether a client learns the id before the execution ends: the execution is then saved at once */
  add (active: ActiveExecution, isKnown: boolean): void {
    if (isKnown || this.#bus.has('transition')) this.#save(active)
    else this.#saveLater(active)
  }

  /** Adds an execution that the storage gets, or has, by another way. */
  addSaved (active: ActiveExecution): void {
    this.#saved.set(active.execution.id, active)
  }

  /** Saves the newest state of an execution, if the storage has that execution already. */
  saveAgain (active: ActiveExecution): void {
    if (!this.#unsaved.has(active)) this.#save(active)
  }

  /** Saves the newest state of an execution, which others have to know from now on. */
  saveNow (active: ActiveExecution): void {
    this.#save(active)
  }

  /** Removes an execution whose final record was saved. */
  remove (active: ActiveExecution): void {
    if (!this.#unsaved.delete(active)) this.#saved.delete(active.execution.id)
  }

  get (id: string): ActiveExecution | undefined {
    const saved = this.#saved.get(id)
    if (saved !== undefined) return saved
    for (const active of this.#unsaved) if (active.execution.id === id) return active
    return undefined
  }

  /** Returns an execution by id, if the storage has it, so that other processes can know it. */
  getSaved (id: string): ActiveExecution | undefined {
    return this.#saved.get(id)
  }

  /** Whether the storage has any unfinished execution of this process, so that other processes can know it. */
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
    this.#storage.save({ execution: active.execution, owner: this.#processes.thisProcess() })
  }

  /** Saves an execution only if it takes longer than `unsaved_ms`: until then, no client can ask for it. */
  #saveLater (active: ActiveExecution): void {
    this.#unsaved.push(active)
    this.#saver ??= setInterval(() => { this.#saveOld() }, unsaved_ms).unref()
  }

  #saveOld (): void {
    const before_ms = performance.now() - unsaved_ms
    for (const active of this.#unsaved) {
      if (active.accepted_ms > before_ms) return
      // An execution that has ended is saved already, and only waits for its commit.
      if (!isFinal(active.execution.status)) this.#save(active)
    }
    if (this.#unsaved.size > 0) return
    clearInterval(this.#saver)
    this.#saver = undefined
  }
}
