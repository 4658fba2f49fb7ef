import {
  pendingLimits, refuseTooManyPending, type Cache, type Execution, type ExecutionPage, type KeyedExecution,
  type Lease, type ProcessIdentity,
  type Storage, type StoredExecution, type UnfinishedExecution
} from '../../kernel/index.ts'
import { deferred } from './deferred.ts'

/** How the next operation of a storage goes. */
export type Fate =
  /** The operation succeeds. */
  | { how: 'succeed' }
  /** A transaction ends after this many records; the rest needs another one. An operation without records succeeds. */
  | { how: 'part', records: number }
  /** The operation fails and changes nothing. A commit is tried again. */
  | { how: 'fail' }
  /** Nobody waits for the commit any longer, but it may still succeed. Other operations succeed. */
  | { how: 'stall' }

/** An operation that a storage has begun, and that the history completes. */
export interface Operation {
  readonly name: string
  /** @returns whether the operation has ended */
  complete (fate: Fate): boolean
}

/** What is on the disk, for all processes. */
export class SimulatedDisk {
  readonly records = new Map<string, StoredExecution>()
  readonly cancels = new Set<string>()
  readonly keys = new Map<string, KeyedExecution>()
  readonly roles = new Map<string, Lease>()
  readonly #written: (before: StoredExecution | undefined, after: StoredExecution) => void

  /** @param written callback: called for each record that is written */
  constructor (written: (before: StoredExecution | undefined, after: StoredExecution) => void) {
    this.#written = written
  }

  /** Writes a record in the state that it has now. */
  write (stored: StoredExecution): void {
    const { id } = stored.execution
    const before = this.records.get(id)
    const after = structuredClone(stored)
    this.records.set(id, after)
    if (after.owner === null) this.cancels.delete(id)
    this.#written(before, after)
  }

  unfinished (): UnfinishedExecution[] {
    return [...this.records.values()].flatMap(({ execution: { id }, owner }) => {
      return owner === null ? [] : [{ id, owner: { ...owner } }]
    })
  }
}

/** Records that wait for a commit, and the promise for the callers. */
class Batch {
  records: StoredExecution[] = []
  readonly ended = deferred<undefined>()

  constructor () {
    this.ended.promise.catch(() => {}) // no caller needs to wait for it
  }
}

/**
 * The storage of one process, with the promises of the contract and no others: a commit reads a record when its
 * transaction runs, the process learns of a commit later than the disk, and an operation can fail or take long.
 */
export class SimulatedStorage implements Storage {
  readonly cache: Cache = { read: () => unused('cache.read'), write: () => unused('cache.write') }
  readonly operations: Operation[] = []
  /** Whether a commit has failed. */
  hasFailed = false
  readonly #disk: SimulatedDisk
  readonly #pending_max: number
  #open = new Batch()
  #taken: Batch | undefined
  #committing = false
  #isDead = false

  /** @param pending_max how many records may wait for a commit */
  constructor (disk: SimulatedDisk, pending_max: number) {
    this.#disk = disk
    this.#pending_max = pending_max
  }

  /** Whether `admit` refuses an execution. */
  get isFull (): boolean {
    return this.#pending.length >= this.#pending_max
  }

  admit (): void {
    // The limit of the kernel, scaled to the few records of a history.
    refuseTooManyPending(this.isFull ? pendingLimits.executions : 0, 0)
  }

  save (stored: StoredExecution): void {
    if (this.#isDead) return
    this.#open.records.push(stored)
    this.#commitLater()
  }

  async commit (): Promise<void> {
    if (this.#isDead) return
    if (this.#open.records.length === 0) return this.#taken?.ended.promise
    await this.#open.ended.promise
  }

  get (id: string): Promise<StoredExecution | undefined> {
    return this.#later('get', () => structuredClone(this.newest(id)))
  }

  /** The last state of an execution that was saved, committed or not. */
  newest (id: string): StoredExecution | undefined {
    return this.#pending.findLast(({ execution }) => execution.id === id) ?? this.#disk.records.get(id)
  }

  unfinished (): Promise<UnfinishedExecution[]> {
    return this.#later('unfinished', () => this.#disk.unfinished())
  }

  async endUnfinished (
    found: readonly UnfinishedExecution[], end: (execution: Execution) => Execution | undefined
  ): Promise<string[]> {
    const ended = await this.#settle('endUnfinished', found, present => {
      const execution = end(present)
      return execution === undefined ? undefined : { execution, owner: null }
    })
    return ended.map(({ id }) => id)
  }

  takeOver (
    found: readonly UnfinishedExecution[], owner: ProcessIdentity, mayTake: (execution: Execution) => boolean
  ): Promise<Execution[]> {
    return this.#settle('takeOver', found, execution => mayTake(execution) ? { execution, owner } : undefined)
  }

  saveOnce (key: string, keyed: KeyedExecution, stored: StoredExecution): Promise<KeyedExecution | undefined> {
    return this.#later('saveOnce', () => {
      const known = this.#disk.keys.get(key)
      if (known !== undefined) return known
      this.#disk.keys.set(key, keyed)
      this.#disk.write(stored)
      return undefined
    })
  }

  #settle (
    name: string, found: readonly UnfinishedExecution[],
    settle: (execution: Execution) => StoredExecution | undefined
  ): Promise<Execution[]> {
    const settled: Execution[] = []
    let next = 0
    return this.#later(name, fate => {
      const to = fate.how === 'part' ? next + fate.records : found.length
      for (; next < Math.min(to, found.length); next++) {
        const { id, owner } = found[next] as UnfinishedExecution
        const stored = this.#disk.records.get(id)
        if (stored === undefined || stored.owner === null || !isSame(stored.owner, owner)) continue
        const record = settle(structuredClone(stored.execution))
        if (record === undefined) continue
        this.#disk.write(record)
        settled.push(structuredClone(record.execution))
      }
      return next < found.length ? again : settled
    })
  }

  requestCancel (id: string): Promise<void> {
    return this.#later('requestCancel', () => {
      const stored = this.#disk.records.get(id)
      if (stored !== undefined && stored.owner !== null) this.#disk.cancels.add(id)
    })
  }

  cancelRequests (): string[] {
    return this.#isDead ? [] : [...this.#disk.cancels]
  }

  list (): Promise<ExecutionPage> { return unused('list') }
  visit (): Promise<void> { return unused('visit') }
  records (): AsyncIterable<Execution> { throw new Error('executions do not use records') }

  claim (
    role: string, claim: Lease, isAlive: (owner: ProcessIdentity) => boolean
  ): Promise<Lease | undefined> {
    return this.#later('claim', () => {
      const holder = this.#disk.roles.get(role)
      if (holder !== undefined && !isSame(holder.owner, claim.owner) && isAlive(holder.owner)) return holder
      this.#disk.roles.set(role, claim)
      return undefined
    })
  }

  release (role: string, owner: ProcessIdentity): Promise<void> {
    return this.#later('release', () => {
      const holder = this.#disk.roles.get(role)
      if (holder !== undefined && isSame(holder.owner, owner)) this.#disk.roles.delete(role)
    })
  }

  async holder (role: string): Promise<Lease | undefined> {
    return this.#isDead ? undefined : this.#disk.roles.get(role)
  }

  /**
   * The process dies. The oldest records that waited for a commit can still be on the disk; all others are lost.
   * @param kept how many records
   */
  crash (kept: number): void {
    for (const stored of this.#pending.slice(0, kept)) this.#disk.write(stored)
    this.#isDead = true
    const begun = this.operations.splice(0)
    this.#open = new Batch()
    this.#taken = undefined
    for (const operation of begun) operation.complete({ how: 'fail' })
  }

  get #pending (): StoredExecution[] {
    return [...this.#taken?.records ?? [], ...this.#open.records]
  }

  #commitLater (): void {
    if (this.#committing) return
    this.#committing = true
    this.operations.push({ name: 'commit', complete: fate => this.#isDead || this.#commit(fate) })
  }

  #commit (fate: Fate): boolean {
    if (fate.how === 'stall') {
      this.hasFailed = true
      const { ended } = this.#taken ?? this.#open
      ended.reject(new Error('the commit takes too long'))
      return false
    }
    if (fate.how === 'fail') {
      this.#fail()
      return false
    }
    const batch = this.#taken ??= this.#open
    if (batch === this.#open) this.#open = new Batch()
    const written = batch.records.splice(0, fate.how === 'part' ? fate.records : batch.records.length)
    for (const stored of written) this.#disk.write(stored)
    if (batch.records.length > 0) return false
    this.operations.push({ name: 'acknowledge', complete: () => this.#acknowledge(batch) })
    return true
  }

  #acknowledge (batch: Batch): boolean {
    batch.ended.resolve(undefined)
    this.#taken = undefined
    this.#committing = false
    if (this.#open.records.length > 0) this.#commitLater()
    return true
  }

  /** Rejects the promises of the callers, and keeps their records for the next commit. */
  #fail (): void {
    this.hasFailed = true
    const failed = this.#taken ?? this.#open
    const next = new Batch()
    next.records = this.#pending
    const superseded = failed === this.#open ? undefined : this.#open
    this.#open = next
    this.#taken = undefined
    failed.ended.reject(new Error('the disk is full'))
    if (superseded !== undefined) next.ended.promise.then(superseded.ended.resolve, superseded.ended.reject)
  }

  /** Does an operation when the history completes it. */
  #later<T> (name: string, act: (fate: Fate) => T | typeof again): Promise<T> {
    if (this.#isDead) return Promise.reject(new Error('the process is dead'))
    return new Promise((resolve, reject) => {
      this.operations.push({
        name,
        complete (fate) {
          if (fate.how === 'fail') {
            reject(new Error(`the disk can't be read for ${name}`))
            return true
          }
          const result = act(fate)
          if (result === again) return false
          resolve(result as T)
          return true
        }
      })
    })
  }
}

/** The result of an operation that needs another transaction. */
const again = Symbol('again')

function isSame (a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started
}

function unused (name: string): Promise<never> {
  throw new Error(`executions do not use ${name}`)
}
