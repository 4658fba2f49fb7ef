import { isUtf8 } from 'node:buffer'
import { messageOf } from '../../../kernel/index.ts'
import { boundsOf } from '../bounds.ts'
import { chunkLength, isChunk, statusNumbers, statusOffset } from '../columns.ts'
import { formatVersion } from '../format.ts'
import { readChecked } from '../rows.ts'
import type { Entry } from './walk.ts'
import { sequenceOf } from './keys.ts'
import { Damage } from './reader.ts'

/** What a check found in a history that is sound. */
export interface Sound { format: number, executions: number }

/** Checks what the tables contain: each row can be read, and the tables agree with each other. */
export class Content {
  readonly #texts = new Map<string, string>()
  readonly #chunks = new Map<number, Buffer>()
  readonly #details = new Set<number>()
  #executions = 0
  #below = 0
  #first = Number.POSITIVE_INFINITY
  #last = 0
  /** Sums over pairs of id and number: the same in the rows and in the table of ids. */
  #rows = 0
  #ids = 0
  #idsCount = 0
  #aside = 0

  /** @throws Damage */
  readonly add = (table: string, entry: Entry): void => {
    try {
      this.#add(table, entry)
    } catch (error) {
      if (error instanceof Damage) throw error
      throw new Damage(`an entry of the table "${table}" can't be read: ${messageOf(error)}`)
    }
  }

  /** Compares the tables. @throws Damage */
  finish (): Sound {
    const format = this.#texts.get('format')
    if (format === undefined) {
      if (this.#executions === 0 && this.#texts.size === 0) return { format: 0, executions: 0 }
      throw new Damage('it has no format')
    }
    if (Number(format) > formatVersion) return { format: Number(format), executions: 0 }
    const { first, last, aside } = boundsOf(this.#texts.get('bounds'), 'it')
    const dense = this.#executions - this.#aside
    const isWithin = dense === 0 || (this.#first === first && this.#last === last)
    if (dense !== last - first + 1 || this.#aside !== aside || this.#below !== aside || !isWithin) {
      const expected = `${first} to ${last} and ${aside} older ones`
      throw new Damage(`it has ${this.#executions} executions, and says that they are ${expected}`)
    }
    if (this.#rows !== this.#ids || this.#idsCount !== this.#executions) {
      throw new Damage('its table of ids is not that of its executions')
    }
    return { format: Number(format), executions: this.#executions }
  }

  #add (table: string, { key, value }: Entry): void {
    // A newer version knows what its tables contain. The start refuses its file for that.
    if (table !== '' && Number(this.#texts.get('format')) > formatVersion) return
    switch (table) {
      case '': return void this.#texts.set(key.toString(), textOf(value))
      case 'columns': {
        if (!isChunk(value)) throw new Damage(`its columns have a chunk of ${value.length} bytes`)
        return void this.#chunks.set(sequenceOf(key), value)
      }
      case 'aside': {
        this.#aside++
        return
      }
      case 'details': {
        const { isWhole } = readChecked(textOf(value))
        if (!isWhole) throw new Error('a record is not whole')
        return void this.#details.add(sequenceOf(key))
      }
      case 'executions': return this.#addRow(sequenceOf(key), textOf(value))
      case 'ids': {
        this.#ids = (this.#ids + hashOf(textOf(key), Number(textOf(value)))) >>> 0
        this.#idsCount++
        return
      }
      case 'names': case 'roles': case 'keys': return void JSON.parse(textOf(value))
      default:
    }
  }

  #addRow (sequence: number, text: string): void {
    const { id, created_ms, status, isWhole } = readChecked(text)
    this.#executions++
    this.#rows = (this.#rows + hashOf(id, sequence)) >>> 0
    if (!isWhole && !this.#details.has(sequence)) throw new Damage(`execution ${id} has lost its parameters and output`)
    const first = boundsOf(this.#texts.get('bounds'), 'it').first
    if (sequence < first) {
      this.#below++
      return
    }
    this.#first = Math.min(this.#first, sequence)
    this.#last = Math.max(this.#last, sequence)
    const chunk = this.#chunks.get(Math.floor(sequence / chunkLength))
    const index = sequence % chunkLength
    if (chunk?.readDoubleLE(8 * index) !== created_ms || chunk[statusOffset + index] !== statusNumbers[status]) {
      throw new Damage(`the columns of execution ${id} are not those of its row`)
    }
  }
}

function textOf (bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('a text is not UTF-8')
  return bytes.toString()
}

/** FNV-1a. */
function hashOf (id: string, sequence: number): number {
  let hash = 0x811c9dc5
  const text = `${id} ${sequence}`
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
