import { setImmediate } from 'node:timers/promises'
import { silentLogger, type LostExecutions, type Repair, type StoredExecution } from '../../../kernel/index.ts'
import { boundsOf, type Bounds } from '../bounds.ts'
import { openEnvironment } from '../environment.ts'
import { claimFormat, migrate } from '../format.ts'
import { History } from '../history.ts'
import { noLimits, Pruner } from '../prune.ts'
import { readChecked, readRecord, rowCharactersMax } from '../rows.ts'
import { sequenceOf } from './keys.ts'
import { nodeFlags, nodesOf, pageKinds, readAnyMeta, readMeta, usualPageSize, type Node } from './layout.ts'
import { PageReader } from './reader.ts'

export type Salvaged = Pick<Repair, 'kept' | 'lost' | 'gaps'>

/** The number of gaps that are reported one by one. */
const gapsMax = 20
const recordsPerTransaction = 256

/** Where the newest row of an execution is. */
interface Place { transaction: number, page: number, index: number }
/** What was found of an execution: the entry in `executions`, and in `details`. */
interface FoundPlaces { row?: Place, details?: Place, isUnfinished: boolean }

/**
 * Writes what can still be read of a damaged file into a new one. Every page of the file is looked at by itself, so a
 * page that can't be read loses what is in it and nothing else: the rows of executions are recognized wherever they
 * are, and of several versions of a row the one of the newest transaction counts. All other tables are made anew.
 * LMDB does not read the damaged file, since it would end the process.
 * @throws Error when the new file can't be written
 */
export async function salvage (file: string, to: string): Promise<Salvaged> {
  const reader = new PageReader(file)
  try {
    const scan = new Scan(reader)
    await scan.run()
    const env = await openEnvironment(to, (meta, transact) => claimFormat(to, meta, transact))
    try {
      await migrate(env)
      const history = new History(env, new Pruner(env, noLimits), silentLogger)
      const kept: { sequence: number, created_at: string }[] = []
      let batch: StoredExecution[] = []
      const write = async (): Promise<void> => {
        for (const rest = batch; rest.length > 0;) {
          const written = await env.transact(() => history.put(rest))
          history.committed(written)
          rest.splice(0, written.count)
        }
        batch = []
      }
      for (const [sequence, stored] of scan.records()) {
        kept.push({ sequence, created_at: stored.execution.created_at })
        if (batch.push(stored) === recordsPerTransaction) await write()
      }
      await write()
      return reportOf(kept, scan.bounds)
    } finally {
      await env.close()
    }
  } finally {
    reader.close()
  }
}

/** Looks for the rows of executions in all pages of a file. */
class Scan {
  /** The numbers that the executions had; undefined when they can't be read. */
  bounds: Bounds | undefined
  readonly #reader: PageReader
  readonly #places = new Map<number, FoundPlaces>()
  #pageSize: number = usualPageSize
  #boundsOf = -1
  #newest = Number.POSITIVE_INFINITY

  constructor (reader: PageReader) {
    this.#reader = reader
  }

  async run (): Promise<void> {
    const meta = await readAnyMeta(this.#reader.readAt)
    if (meta !== undefined) this.#pageSize = meta.pageSize
    // Pages of a later transaction are of a commit that did not end. Where a meta page is lost, it may have ended.
    const areBothGood = typeof await readMeta(this.#reader.readAt) !== 'string'
    if (areBothGood && meta !== undefined) this.#newest = Number(meta.transaction)
    const pages = Math.floor(this.#reader.bytes / this.#pageSize)
    for (let page = 2; page < pages; page++) {
      this.#scan(page)
      if (page % 1_024 === 0) await setImmediate()
    }
  }

  /** The newest whole records, in the order of their numbers. */
  * records (): Generator<[sequence: number, stored: StoredExecution]> {
    const first = this.bounds?.first ?? 0
    for (const [sequence, places] of [...this.#places].toSorted(([a], [b]) => a - b)) {
      // Lower numbers were pruned, except those of executions that had not ended.
      if (sequence < first && !places.isUnfinished) continue
      const stored = this.#record(places.row) ?? this.#record(places.details)
      if (stored !== undefined) yield [sequence, stored]
    }
  }

  #scan (number: number): void {
    for (const [index, node] of this.#leaf(number).entries()) {
      if (node.key.toString('latin1') === 'bounds') this.#readBounds(node, number)
      const sequence = sequenceOf(node.key)
      const text = Number.isNaN(sequence) ? undefined : this.#text(node)
      if (text === undefined || !/^[[{]/.test(text)) continue
      try {
        const { isWhole, owner } = readChecked(text)
        const place = { transaction: this.#transaction(number), page: number, index }
        this.#add(sequence, place, isWhole && text.length > rowCharactersMax ? 'details' : 'row', owner !== null)
      } catch {} // the entry of another table, or a row that is damaged
    }
  }

  #add (sequence: number, place: Place, table: 'row' | 'details', isUnfinished: boolean): void {
    const places = this.#places.get(sequence) ?? { isUnfinished: false }
    this.#places.set(sequence, places)
    if ((places[table]?.transaction ?? -1) > place.transaction) return
    places[table] = place
    if (table === 'row') places.isUnfinished = isUnfinished
  }

  #readBounds (node: Node, page: number): void {
    const transaction = this.#transaction(page)
    if (transaction <= this.#boundsOf) return
    try {
      this.bounds = boundsOf(node.value.toString(), 'the file')
      this.#boundsOf = transaction
    } catch {} // an older version may be whole
  }

  #record (place: Place | undefined): StoredExecution | undefined {
    const node = place === undefined ? undefined : this.#leaf(place.page)[place.index]
    const text = node === undefined ? undefined : this.#text(node)
    return text === undefined ? undefined : readRecord(text)
  }

  /** The nodes of a leaf; none when the page is another one, or damaged. The nodes that can be read are all or none. */
  #leaf (number: number): Node[] {
    try {
      const { bytes, header } = this.#reader.page(BigInt(number), this.#pageSize)
      if (header.kind !== pageKinds.leaf || Number(header.transaction) > this.#newest) return []
      const nodes = nodesOf(bytes, header)
      return typeof nodes === 'string' ? [] : nodes
    } catch {
      return []
    }
  }

  #transaction (number: number): number {
    return Number(this.#reader.page(BigInt(number), this.#pageSize).header.transaction)
  }

  #text (node: Node): string | undefined {
    if ((node.flags & nodeFlags.tree) !== 0) return undefined
    try {
      const isHere = (node.flags & nodeFlags.overflow) === 0
      return (isHere ? node.value : this.#reader.overflow(node, this.#pageSize).value).toString()
    } catch {
      return undefined
    }
  }
}

function reportOf (kept: readonly { sequence: number, created_at: string }[], bounds: Bounds | undefined): Salvaged {
  if (bounds === undefined) return { kept: kept.length, lost: null, gaps: [] }
  const gaps: LostExecutions[] = []
  let last = bounds.first - 1
  let after: string | null = null
  const add = (next: number, before: string | null): void => {
    if (next > last + 1 && gaps.length < gapsMax) gaps.push({ executions: next - last - 1, after, before })
  }
  for (const { sequence, created_at } of kept) {
    if (sequence >= bounds.first) {
      add(sequence, created_at)
      last = sequence
    }
    after = created_at
  }
  add(bounds.last + 1, null)
  return { kept: kept.length, lost: Math.max(bounds.last - bounds.first + 1 + bounds.aside - kept.length, 0), gaps }
}
