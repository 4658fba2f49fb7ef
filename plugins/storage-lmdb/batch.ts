import { recordBytes, type StoredExecution } from '../../kernel/index.ts'

/** Records that wait for a commit, and the promise for the callers. */
export class Batch {
  /**
   * Records in the order in which they were saved; the last record of an execution counts. There is no table by id:
   * most records are new, and are not looked up.
   */
  records: StoredExecution[] = []
  /** The bytes of each record, and of all records. */
  #bytes: number[] = []
  bytes = 0
  /** Whether a caller waits for this batch. */
  awaited = false
  readonly promise: Promise<void>
  resolve!: () => void
  reject!: (reason: unknown) => void

  constructor () {
    this.promise = new Promise((resolve, reject) => { this.resolve = resolve; this.reject = reject })
    this.promise.catch(() => {}) // no caller needs to wait for it
  }

  add (stored: StoredExecution): void {
    const bytes = recordBytes(stored.execution)
    this.records.push(stored)
    this.#bytes.push(bytes)
    this.bytes += bytes
  }

  /** Adds the records of another batch before the records of this one. */
  addAll (other: Batch): void {
    this.records = this.records.concat(other.records)
    this.#bytes = this.#bytes.concat(other.#bytes)
    this.bytes += other.bytes
  }

  /** Removes the first `count` records, which were stored or refused; most often these are all records. */
  drop (count: number): void {
    if (count === this.records.length) this.bytes = 0
    else for (let index = 0; index < count; index++) this.bytes -= this.#bytes[index] ?? 0
    this.records = this.records.slice(count)
    this.#bytes = this.#bytes.slice(count)
  }

  find (id: string): StoredExecution | undefined {
    return this.records.findLast(({ execution }) => execution.id === id)
  }
}

/** A wait that can be ended early. */
export class Pause {
  readonly over: Promise<void>
  end!: () => void

  constructor (ms: number) {
    this.over = new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.end = () => { clearTimeout(timer); resolve() }
    })
  }
}
