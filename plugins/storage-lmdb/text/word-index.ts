import { existsSync, rmSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { executionWords, hasAll, messageOf, pauses, within, type SoughtWord } from '../../../kernel/index.ts'
import type { Bounds } from '../bounds.ts'
import { BlockFile, DamagedBlock, writeBlock } from './block-file.ts'
import { blockPath, prepareFolder } from './folder.ts'
import { MemoryBlock } from './memory-block.ts'
import { addTo, blockLength, blockOf, intersect, setBytes } from './positions.ts'
import type { Found } from './protocol.ts'
import type { RowReader } from './row-reader.ts'

/** The newest blocks stay in memory until all their executions have ended. */
const waitingBlocks = 2

/**
 * The index of the words of executions. It follows the history, from the newest executions to the oldest, when it is
 * asked: a block of executions at a time, which becomes a file when it is full. Files are never changed. What is not in
 * a file is read from the history again by the next process. So the index can be behind the history, and not wrong.
 */
export class WordIndex {
  readonly #folder: string
  readonly #rows: RowReader
  readonly #stuck: (message: string) => void
  readonly #memory = new Map<number, MemoryBlock>()
  readonly #files = new Map<number, BlockFile>()
  #working: Promise<void> | undefined
  /** The newest execution of which a query wants the words: the history goes on growing while the index follows. */
  #wanted = 0
  /** Why a file could not be written. */
  #fault: string | undefined
  #ending = false

  /** @param stuck called when the index can't be completed */
  constructor (folder: string, rows: RowReader, stuck: (message: string) => void) {
    this.#folder = folder
    this.#rows = rows
    this.#stuck = stuck
  }

  /**
   * Finds the executions that have all of these words.
   * @param patience_ms how long it waits for the index to be complete; then it answers for what is in the index
   */
  async find (words: readonly SoughtWord[], patience_ms: number): Promise<Found> {
    this.#rows.refresh()
    const bounds = this.#rows.bounds()
    this.#forgetBelow(bounds.first)
    this.#wanted = Math.max(this.#wanted, bounds.last)
    await within(patience_ms, this.#working ??= this.#work().finally(() => { this.#working = undefined }))
    this.#rows.refresh()
    return await this.#look(words, bounds)
  }

  /** Stops the work on the index. */
  async end (): Promise<void> {
    this.#ending = true
    await this.#working
  }

  /** Makes the index complete, one block after the other, the newest first. */
  async #work (): Promise<void> {
    this.#fault = undefined
    try {
      prepareFolder(this.#folder)
    } catch (error) {
      this.#fault = messageOf(error)
    }
    try {
      await this.#readEnded()
      for (let block = this.#missing(); block !== undefined && !this.#ending; block = this.#missing()) {
        if (this.#fault !== undefined && !this.#isNew(block)) break
        if (!this.#load(block)) await this.#read(block)
      }
    } catch (error) {
      this.#fault = messageOf(error)
    }
    if (this.#fault !== undefined) this.#stuck(this.#fault)
  }

  /** The newest block that is not in the index, as far as the history goes. */
  #missing (): number | undefined {
    this.#rows.refresh()
    const { first } = this.#rows.bounds()
    const last = this.#wanted
    for (let block = blockOf(last); block >= blockOf(first); block--) {
      if (!this.#files.has(block) && last >= first && missingIn(this.#memory.get(block), block, { first, last }) > 0) {
        return block
      }
    }
    return undefined
  }

  /** Takes the file that this process, or another one, has made of a block. @returns false when there is none */
  #load (block: number): boolean {
    const path = blockPath(this.#folder, block)
    const last = (block + 1) * blockLength - 1
    if (last > this.#rows.bounds().last || !existsSync(path)) return false
    try {
      const file = new BlockFile(path)
      const { history, last_id } = file.facts
      if (history !== this.#rows.history || last_id !== this.#rows.idOf(last)) {
        throw new DamagedBlock(`${path} has the words of another history`)
      }
      this.#files.set(block, file)
      this.#memory.delete(block)
      return true
    } catch (error) {
      if (!(error instanceof DamagedBlock)) throw error
      rmSync(path, { force: true })
      return false
    }
  }

  /** Reads the executions of a block that are there now, and writes them to a file when they are all there. */
  async #read (block: number): Promise<void> {
    const start = block * blockLength
    const { first, last } = this.#rows.bounds()
    const memory = this.#memory.get(block) ?? new MemoryBlock(Math.max(first - start, 0))
    this.#memory.set(block, memory)
    const pause = pauses()
    for (; memory.next < Math.min(blockLength, last + 1 - start); memory.next++) {
      const stored = this.#rows.read(start + memory.next)
      if (stored?.owner === null) memory.add(memory.next, executionWords(stored.execution))
      else if (stored !== undefined) memory.open.add(memory.next)
      const wait = pause()
      if (wait === undefined) continue
      await wait
      if (this.#ending) return
      this.#rows.refresh()
    }
    this.#seal(block, memory)
  }

  /** Reads executions again that had not ended, and makes the files that had to wait for them. */
  async #readEnded (): Promise<void> {
    for (const [block, memory] of this.#memory) {
      for (const position of memory.open) {
        const stored = this.#rows.read(block * blockLength + position)
        if (stored !== undefined && stored.owner !== null) continue
        memory.open.delete(position)
        if (stored !== undefined) memory.add(position, executionWords(stored.execution))
      }
      this.#seal(block, memory)
      await setImmediate()
    }
  }

  /** Writes a block to a file when it is full and nothing is to be added soon. */
  #seal (block: number, memory: MemoryBlock): void {
    if (memory.next < blockLength || (this.#isNew(block) && memory.open.size > 0)) return
    const last_id = this.#rows.idOf((block + 1) * blockLength - 1)
    if (last_id === undefined) return // pruned meanwhile
    const path = blockPath(this.#folder, block)
    try {
      writeBlock(path, { history: this.#rows.history, last_id, open: [...memory.open] }, memory.words)
      this.#files.set(block, new BlockFile(path))
      this.#memory.delete(block)
    } catch (error) {
      this.#fault = messageOf(error)
      // The words of old blocks must not fill the memory while nothing can be written.
      if (!this.#isNew(block)) this.#memory.delete(block)
    }
  }

  #isNew (block: number): boolean {
    return blockOf(this.#rows.bounds().last) - block < waitingBlocks
  }

  #forgetBelow (first: number): void {
    for (const block of this.#memory.keys()) if (block < blockOf(first)) this.#memory.delete(block)
    for (const block of this.#files.keys()) if (block < blockOf(first)) this.#files.delete(block)
  }

  async #look (words: readonly SoughtWord[], bounds: Bounds): Promise<Found> {
    const [from, to] = [blockOf(bounds.first), blockOf(bounds.last)]
    const bits = new Uint8Array((to - from + 1) * setBytes)
    let unindexed = 0
    const pause = pauses()
    for (let block = to; block >= from && bounds.last >= bounds.first; block--) {
      const set = bits.subarray((block - from) * setBytes, (block - from + 1) * setBytes)
      if (!this.#lookIn(block, words, set)) unindexed += missingIn(this.#memory.get(block), block, bounds)
      await pause()
    }
    return { first: from * blockLength, bits, unindexed }
  }

  /** Puts the positions that have all words into a set. @returns whether the block has a file */
  #lookIn (block: number, words: readonly SoughtWord[], set: Uint8Array): boolean {
    const file = this.#files.get(block)
    const source = file ?? this.#memory.get(block)
    if (source === undefined) return false
    let isFirst = true
    const seen = (addWord: (set: Uint8Array) => void): boolean => {
      if (isFirst) addWord(set)
      else {
        const other = new Uint8Array(setBytes)
        addWord(other)
        return intersect(set, other)
      }
      isFirst = false
      return set.some(byte => byte !== 0)
    }
    try {
      source.look(words, seen)
    } catch {
      set.fill(0) // deleted or damaged: it is made again
      this.#files.delete(block)
      rmSync(blockPath(this.#folder, block), { force: true })
      return false
    }
    this.#lookInOpen(block, file?.facts.open ?? this.#memory.get(block)?.open ?? [], words, set)
    return file !== undefined
  }

  /** The words of executions that had not ended are read each time: they change. */
  #lookInOpen (block: number, open: Iterable<number>, words: readonly SoughtWord[], set: Uint8Array): void {
    for (const position of open) {
      const stored = this.#rows.read(block * blockLength + position)
      if (stored !== undefined && hasAll(executionWords(stored.execution), words)) addTo(set, position)
    }
  }
}

/** How many executions of a block without a file are not in memory. */
function missingIn (
  memory: MemoryBlock | undefined, block: number, { first, last }: Pick<Bounds, 'first' | 'last'>
): number {
  const start = block * blockLength
  const end = Math.min(start + blockLength, last + 1)
  return Math.max(end - Math.max(start + (memory?.next ?? 0), first), 0)
}
