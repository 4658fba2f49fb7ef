import { nodeFlags, nodesOf, noPage, pageKinds, treeBytes, treeOf, type Meta, type Node, type Tree } from './layout.ts'
import { Damage, type PageReader } from './reader.ts'

/** An entry of a table, with the whole of its value. */
export interface Entry { key: Buffer, value: Buffer }

/** Is called with each entry of a table, in the order of the keys. The table of other entries is ''. */
export type OnEntry = (table: string, entry: Entry) => void

/** LMDB's number for tables whose keys are integers, which only its list of free pages is. */
const integerKeys = 8
/** The highest number of levels that LMDB can read. */
const depthMax = 32

/** What a walk through a tree has counted. */
interface Count { branches: number, leaves: number, overflows: number, entries: number }
/** A tree on which a walk is. */
interface Walked {
  tree: Tree
  count: Count
  /** How it is called in errors. */
  name: string
  compare: (a: Buffer, b: Buffer) => number
  onEntry: (entry: Entry, node: Node) => void
}

/**
 * Walks through all pages that are in use, and checks everything on which LMDB relies: a page of its trees that is
 * wrong would end the process, or let it write over other pages. What is within values is for `onEntry` to check.
 * @throws Damage
 */
export class Walk {
  readonly #reader: PageReader
  readonly #meta: Meta
  /** The pages that were seen: each page has one use. */
  readonly #seen: Uint8Array

  constructor (reader: PageReader, meta: Meta) {
    const { lastPage, pageSize } = meta
    const bytes = (Number(lastPage) + 1) * pageSize
    if (reader.bytes < bytes) throw new Damage(`the file has ${reader.bytes} bytes of at least ${bytes}`)
    this.#reader = reader
    this.#meta = meta
    this.#seen = new Uint8Array(Number(lastPage) + 1)
  }

  run (onEntry: OnEntry): void {
    const { free, main } = this.#meta
    const tables: { name: string, tree: Tree }[] = []
    this.#tree(main, 'the list of tables', Buffer.compare, (entry, { flags, size }) => {
      if ((flags & nodeFlags.tree) === 0) return onEntry('', entry)
      const name = entry.key.toString().replace(/\0$/, '')
      const tree = size === treeBytes && flags === nodeFlags.tree ? treeOf(entry.value) : undefined
      if (tree?.flags !== 0) throw new Damage(`the table "${name}" is not described as those of a history`)
      tables.push({ name, tree })
    })
    for (const { name, tree } of tables) {
      this.#tree(tree, `the table "${name}"`, Buffer.compare, (entry, { flags }) => {
        if ((flags & nodeFlags.tree) !== 0) throw new Damage(`the table "${name}" has a table in it`)
        onEntry(name, entry)
      })
    }
    if ((free.flags & integerKeys) === 0) throw new Damage('the list of free pages has no integers as keys')
    this.#tree(free, 'the list of free pages', compareIntegers, entry => { this.#freePages(entry) })
  }

  #tree (tree: Tree, name: string, compare: Walked['compare'], onEntry: Walked['onEntry']): void {
    const { root, depth } = tree
    const count = { branches: 0, leaves: 0, overflows: 0, entries: 0 }
    if (root !== noPage) {
      if (depth < 1 || depth > depthMax) throw new Damage(`${name} has ${depth} levels`)
      this.#page({ tree, count, compare, name, onEntry }, root, 1, undefined, undefined)
    }
    for (const field of ['branches', 'leaves', 'overflows', 'entries'] as const) {
      if (count[field] !== tree[field]) throw new Damage(`${name} has ${count[field]} ${field} of ${tree[field]}`)
    }
  }

  /** @param from the lowest key that the page may have, @param below the key that is higher than all of its keys */
  #page (walked: Walked, number: bigint, level: number, from: Buffer | undefined, below: Buffer | undefined): void {
    const { tree, compare, name, count } = walked
    this.#use(number, 1, name)
    const { bytes, header } = this.#reader.page(number, this.#meta.pageSize)
    const isLeaf = level === tree.depth
    const kind = isLeaf ? 'leaf' : 'branch'
    if (header.kind !== pageKinds[kind]) throw new Damage(`page ${number} is no ${kind} of ${name}`)
    if (header.transaction > this.#meta.transaction) {
      throw new Damage(`page ${number} is of a transaction that never was, ${header.transaction}`)
    }
    const nodes = nodesOf(bytes, header)
    if (typeof nodes === 'string') throw new Damage(`page ${number} of ${name} ${nodes}`)
    if (nodes.length < (isLeaf ? 1 : 2)) throw new Damage(`page ${number} of ${name} has ${nodes.length} nodes`)
    // The first key of a branch stands for all lower keys, and may be missing.
    let last = from
    for (const [index, { key }] of nodes.entries()) {
      if (!isLeaf && index === 0) continue
      const isOrdered = last === undefined || compare(last, key) < (isLeaf && index === 0 ? 1 : 0)
      if (key.length === 0 || !isOrdered || (below !== undefined && compare(key, below) >= 0)) {
        throw new Damage(`page ${number} of ${name} has its keys in a wrong order`)
      }
      last = key
    }
    if (isLeaf) {
      count.leaves++
      for (const node of nodes) this.#leafNode(walked, node)
      return
    }
    count.branches++
    for (const [index, { child, key }] of nodes.entries()) {
      this.#page(walked, child, level + 1, index === 0 ? from : key, nodes[index + 1]?.key ?? below)
    }
  }

  #leafNode ({ count, name, onEntry }: Walked, node: Node): void {
    const { key, flags } = node
    if ((flags & ~(nodeFlags.overflow | nodeFlags.tree)) !== 0) {
      throw new Damage(`${name} has an entry of an unknown kind, ${flags}`)
    }
    count.entries++
    if ((flags & nodeFlags.overflow) === 0) return onEntry({ key, value: node.value }, node)
    const { value, first, pages } = this.#reader.overflow(node, this.#meta.pageSize)
    this.#use(first, pages, name)
    count.overflows += pages
    onEntry({ key, value }, node)
  }

  /** An entry of the list of free pages: a count, then pages, blocks of pages (−length, first page) and zeros. */
  #freePages ({ key, value }: Entry): void {
    const name = 'the list of free pages'
    if (key.length !== 8 || value.length < 8 || value.length % 8 !== 0) {
      throw new Damage(`${name} has an entry of ${value.length} bytes`)
    }
    if (key.readBigUInt64LE(0) > this.#meta.transaction) {
      throw new Damage(`${name} has an entry of a transaction that never was`)
    }
    const count = value.readBigUInt64LE(0)
    if (count > BigInt(value.length / 8 - 1)) throw new Damage(`${name} has ${count} pages in ${value.length} bytes`)
    for (let index = 1; index <= Number(count); index++) {
      const page = value.readBigInt64LE(8 * index)
      if (page === 0n) continue
      if (page > 0n) this.#use(page, 1, name)
      else if (++index > Number(count)) throw new Damage(`${name} ends within a block`)
      else this.#use(value.readBigInt64LE(8 * index), Number(-page), name)
    }
  }

  /** Marks pages as used. @throws Damage when they do not exist, or have another use */
  #use (first: bigint, pages: number, name: string): void {
    const seen = this.#seen
    const from = Number(first)
    if (first < 2n || from + pages > seen.length) {
      throw new Damage(`${name} names page ${first}, which is not in the file`)
    }
    for (let page = from; page < from + pages; page++) {
      if (seen[page] !== 0) throw new Damage(`page ${page} has two uses; one is ${name}`)
      seen[page] = 1
    }
  }
}

function compareIntegers (a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) return 1 // no order: it is damage
  const [x, y] = [a.readBigUInt64LE(0), b.readBigUInt64LE(0)]
  return x < y ? -1 : x > y ? 1 : 0
}
