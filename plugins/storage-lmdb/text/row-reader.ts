import { statSync } from 'node:fs'
import type { StoredExecution } from '../../../kernel/index.ts'
import { readBounds, type Bounds } from '../bounds.ts'
import type { Rows } from '../environment.ts'
import { readHead, readStored } from '../rows.ts'

/** Reads the records of a history in a thread. Nothing stays open between two reads for longer than a `refresh`. */
export class RowReader {
  /** Which history it is, for the files that are made from it. */
  readonly history: string
  readonly #rows: Rows

  constructor (rows: Rows) {
    this.#rows = rows
    this.history = String(statSync(rows.file, { bigint: true }).ino)
  }

  /** Lets the next reads see what was committed meanwhile. */
  refresh (): void {
    this.#rows.refresh()
  }

  bounds (): Bounds {
    return readBounds(this.#rows)
  }

  /** The whole record with a sequence number; undefined when it was pruned. */
  read (sequence: number): StoredExecution | undefined {
    return readStored(this.#rows, sequence)
  }

  idOf (sequence: number): string | undefined {
    const row = this.#rows.executions.get(sequence)
    return row === undefined ? undefined : readHead(row).id
  }

  close (): Promise<void> {
    return this.#rows.close()
  }
}
