import { closeSync, constants, fstatSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { SoughtWord } from '../../../kernel/index.ts'
import { decodePositions, encodedBytes, encodePositions } from './positions.ts'

/** The last bytes of a file: the length of its directory, the checksum of the directory, and this mark. */
const mark = 'skilwrd1'
const trailerBytes = 8 + mark.length
/** The words that are read together. */
const groupLength = 64

/** Of which executions the words of a file are. */
export interface BlockFacts {
  /** The file of the history, by its inode: another one has other executions under the same numbers. */
  readonly history: string
  /** The id of the last execution. */
  readonly last_id: string
  /** The positions of executions that had not ended: words may be missing. */
  readonly open: readonly number[]
}

/** Words that are next to each other in the order of words, and their positions. */
interface Group { first: string, offset: number, length: number, checksum: number }

interface Directory extends BlockFacts { readonly groups: readonly Group[] }

/** A file is damaged, or is none of words. The file can be made again. */
export class DamagedBlock extends Error {}

/**
 * Writes the words of a block, with their positions, to a file. A file is never changed: where a process is killed, the
 * file is there whole or not at all.
 */
export function writeBlock (path: string, facts: BlockFacts, words: ReadonlyMap<string, readonly number[]>): void {
  const sorted = [...words.keys()].toSorted() // by code units, as `<` compares
  const parts: Buffer[] = []
  const groups: Group[] = []
  let offset = 0
  for (let from = 0; from < sorted.length; from += groupLength) {
    const group = Buffer.concat(sorted.slice(from, from + groupLength).flatMap(word => {
      const text = Buffer.from(word)
      return [Buffer.of(text.length), text, encodePositions(words.get(word) ?? [])]
    }))
    groups.push({ first: sorted[from] ?? '', offset, length: group.length, checksum: crc32(group) })
    parts.push(group)
    offset += group.length
  }
  const directory = Buffer.from(JSON.stringify({ ...facts, groups } satisfies Directory))
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(directory.length)
  trailer.writeUInt32LE(crc32(directory), 4)
  trailer.write(mark, 8)
  const temporary = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, Buffer.concat([...parts, directory, trailer]), { mode: 0o600 })
    renameSync(temporary, path) // not flushed before: after a power failure, the checksums tell
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Reads the words of a file. It keeps the file's directory in memory, and opens the file for each query. */
export class BlockFile {
  readonly #path: string
  readonly facts: BlockFacts
  readonly #groups: readonly Group[]

  /** @throws DamagedBlock, or the error of a file that can't be read */
  constructor (path: string) {
    this.#path = path
    const { groups, ...facts } = withFile(path, descriptor => {
      const end = fstatSync(descriptor).size - trailerBytes
      const trailer = read(descriptor, end, trailerBytes)
      const length = trailer.readUInt32LE()
      if (trailer.toString('latin1', 8) !== mark || length > end) {
        throw new DamagedBlock(`${path} is not a file of words`)
      }
      const directory = read(descriptor, end - length, length)
      if (crc32(directory) !== trailer.readUInt32LE(4)) throw new DamagedBlock(`${path} has another checksum`)
      return JSON.parse(directory.toString()) as Directory // as `writeBlock` wrote it
    })
    this.facts = facts
    this.#groups = groups
  }

  /**
   * Calls a function for each word, in turn, with a function that adds the positions of the word to a set, until it
   * returns false.
   * @throws DamagedBlock
   */
  look (words: readonly SoughtWord[], seen: (addTo: (set: Uint8Array) => void) => boolean): void {
    withFile(this.#path, descriptor => {
      for (const sought of words) if (!seen(set => { this.#add(descriptor, sought, set) })) return
    })
  }

  #add (descriptor: number, { word, isPrefix }: SoughtWord, set: Uint8Array): void {
    const sought = Buffer.from(word)
    for (let index = this.#groupOf(word); index < this.#groups.length; index++) {
      const { first, offset, length, checksum } = this.#groups[index] as Group // within the list
      if (first > word && !(isPrefix && first.startsWith(word))) return
      const group = read(descriptor, offset, length)
      if (crc32(group) !== checksum) throw new DamagedBlock(`${this.#path} has another checksum`)
      for (let at = 0; at < group.length;) {
        const length = group[at] ?? 0
        const positions = at + 1 + length
        const mayFit = length === sought.length || (isPrefix && length > sought.length)
        if (mayFit && group.compare(sought, 0, sought.length, at + 1, at + 1 + sought.length) === 0) {
          decodePositions(group, positions, set)
        }
        at = positions + encodedBytes(group, positions)
      }
      if (!isPrefix) return
    }
  }

  /** The last group whose first word is not after a word, or the first group. */
  #groupOf (word: string): number {
    let [low, high] = [0, this.#groups.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#groups[middle] as Group).first <= word) low = middle
      else high = middle - 1
    }
    return low
  }
}

function withFile<T> (path: string, use: (descriptor: number) => T): T {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** @throws DamagedBlock where the file ends before */
function read (descriptor: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  if (position < 0 || readSync(descriptor, bytes, 0, length, position) !== length) {
    throw new DamagedBlock('a file of words is too short')
  }
  return bytes
}
