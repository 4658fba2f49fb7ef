import type { HierarchicalNSW } from 'hnswlib-node'
import { Best } from '../words/best.ts'
import { Matrix } from './matrix.ts'
import type { Found } from './protocol.ts'
import { sentencesMax } from '../words/sentences.ts'

/** Makes an index of the nearest; absent where hnswlib-node can't be loaded. */
export type MakeGraph = (dimensions: number, elements: number) => HierarchicalNSW

/** With fewer vectors, comparing with each is faster than the index and misses nothing. */
const graphMinDefault = 1_000
/** Of vectors in the index that are no longer wanted, before it is made anew. */
const staleShare = 0.5
/** How many vectors the mean and the deviation of cosines are taken of, at most. */
const sampleMax = 256
/** What cosines of unrelated texts are like, for sets of tools too small to tell; counts as so many tools. */
const usual = { mean: 0.1, deviation: 0.11, tools: 16 } as const
/** Where a query stands in the matrix, before all else; its sentences' vectors follow it. */
const query_row = 0
/** Where the sample of tools begins: memory that is read in order is read sooner. */
const sample_row = 1 + sentencesMax
/** Rows of the matrix before the first tool's. */
const rowsBefore = sample_row + sampleMax

/**
 * The vectors of the texts that are embedded, each once, and which tool has which. Tools are numbered by the main
 * thread and change at once; vectors come one by one. With many, an HNSW graph finds the nearest in a millisecond or
 * two; until it holds all, and where only some tools are asked for, each is compared.
 */
export class Vectors {
  readonly #dimensions: number
  readonly #makeGraph: MakeGraph | undefined
  readonly #graphMin: number
  #slots = new Map<string, number>()
  #matrix: Matrix
  /** Vectors in the matrix, wanted or not. */
  #held = 0
  /** Slot of each tool, -1 while its text is not embedded. */
  #tools = new Int32Array(0)
  #toolsOf: number[][] = []
  #waiting = new Map<string, number[]>()
  #embedded = 0
  #graph: HierarchicalNSW | undefined
  /** Vectors in the sample; undefined when it is to be taken anew. */
  #sampled: number | undefined
  /** Slots below are in the graph. */
  #graphed = 0

  constructor (dimensions: number, makeGraph: MakeGraph | undefined, graphMin = graphMinDefault) {
    this.#dimensions = dimensions
    this.#makeGraph = makeGraph
    this.#graphMin = graphMin
    this.#matrix = new Matrix(dimensions)
  }

  /** Texts that must be embedded, each once. */
  get waiting (): Iterable<string> {
    return this.#waiting.keys()
  }

  get progress (): { indexed: number, total: number } {
    return { indexed: this.#embedded, total: this.#tools.length }
  }

  /** Replaces the tools. Vectors of texts that are still there are kept; the others are forgotten. */
  replace (texts: readonly string[]): void {
    const wanted = new Set(texts)
    for (const [text, slot] of this.#slots) {
      if (wanted.has(text)) continue
      this.#slots.delete(text)
      if (slot < this.#graphed) this.#graph?.markDelete(slot)
    }
    if (this.#held > 0 && this.#slots.size < this.#held * (1 - staleShare)) this.#compact()
    this.#tools = new Int32Array(texts.length).fill(-1)
    this.#toolsOf = Array.from({ length: this.#held }, () => [])
    this.#waiting = new Map()
    this.#embedded = 0
    this.#sampled = undefined
    for (const [tool, text] of texts.entries()) {
      const slot = this.#slots.get(text)
      if (slot !== undefined) this.#assign(tool, slot)
      else {
        const tools = this.#waiting.get(text)
        if (tools === undefined) this.#waiting.set(text, [tool])
        else tools.push(tool)
      }
    }
  }

  /**
   * Gives a waiting text its vector; nothing happens when it waits no longer.
   * @throws Error for a vector that is none: hnswlib would take it, and give it for every query
   */
  add (text: string, vector: Float32Array): void {
    const tools = this.#waiting.get(text)
    if (tools === undefined) return
    if (vector.length !== this.#dimensions || !vector.every(Number.isFinite)) {
      throw new Error(`the model gave no vector of ${this.#dimensions} numbers for "${text.slice(0, 80)}"`)
    }
    this.#waiting.delete(text)
    const slot = this.#held++
    this.#matrix.set(rowsBefore + slot, vector)
    this.#slots.set(text, slot)
    this.#toolsOf[slot] = []
    for (const tool of tools) this.#assign(tool, slot)
  }

  /** Puts one more vector into the graph. Blocks for about a millisecond. @returns false when there is nothing to do */
  grow (): boolean {
    if (this.#makeGraph === undefined || this.#slots.size < this.#graphMin || this.#graphed === this.#held) return false
    const graph = this.#graph ??= this.#makeGraph(this.#dimensions, 2 * this.#held)
    if (this.#graphed >= graph.getMaxElements()) graph.resizeIndex(2 * this.#graphed) // a full one throws
    const slot = this.#graphed
    graph.addPoint([...this.#matrix.at(rowsBefore + slot)], slot) // takes no typed array
    this.#graphed++
    if (this.#toolsOf[slot]?.length === 0) graph.markDelete(slot) // unwanted since before its turn
    return true
  }

  /**
   * The tools nearest to a query, and how near some others are.
   * @param whole the query's vector; @param parts those of its sentences: a tool counts by the mean of the whole and
   * its best part
   */
  find (
    whole: Float32Array, parts: readonly Float32Array[], nearest: number, also: Uint32Array, among?: Uint32Array
  ): Found {
    for (const [i, vector] of [whole, ...parts].entries()) this.#matrix.set(query_row + i, vector)
    const candidates = among !== undefined
      ? this.#nearestAmong(among, parts.length, nearest)
      : this.#graph !== undefined && this.#graphed === this.#held
        ? this.#nearestInGraph(this.#graph, [whole, ...parts], nearest)
        : this.#nearestAmong(this.#tools.keys(), parts.length, nearest)
    for (const tool of also) if ((this.#tools[tool] ?? -1) >= 0) candidates.add(tool)
    const tools = Uint32Array.from(candidates)
    const cosines = new Float32Array(tools.length)
    for (const [i, tool] of tools.entries()) cosines[i] = this.#near(this.#tools[tool] ?? 0, parts.length)
    return { tools, cosines, ...this.#spread() }
  }

  #nearestInGraph (graph: HierarchicalNSW, vectors: readonly Float32Array[], nearest: number): Set<number> {
    const tools = new Set<number>()
    for (const [i, vector] of vectors.entries()) {
      const wanted = Math.min(i === 0 ? nearest : Math.ceil(nearest / 2), this.#slots.size)
      for (const slot of graph.searchKnn([...vector], wanted).neighbors) {
        for (const tool of this.#toolsOf[slot] ?? []) tools.add(tool)
      }
    }
    return tools
  }

  #nearestAmong (tools: Iterable<number>, parts: number, nearest: number): Set<number> {
    const best = new Best(nearest)
    for (const tool of tools) {
      const slot = this.#tools[tool] ?? -1
      if (slot >= 0) best.offer(tool, this.#near(slot, parts))
    }
    return new Set(best.sorted())
  }

  #near (slot: number, parts: number): number {
    const all = this.#cosine(slot, query_row)
    if (parts === 0) return all
    let best = -1
    for (let part = 1; part <= parts; part++) best = Math.max(best, this.#cosine(slot, query_row + part))
    return (all + best) / 2
  }

  /** Mean and deviation of a query's cosines with all tools, by a sample of them. */
  #spread (): { mean: number, deviation: number } {
    const sampled = this.#sampled ??= this.#sample()
    const count = usual.tools + sampled
    let sum = usual.mean * usual.tools
    let squares = (usual.deviation ** 2 + usual.mean ** 2) * usual.tools
    for (let i = 0; i < sampled; i++) {
      const cosine = this.#matrix.dot(sample_row + i, query_row)
      sum += cosine
      squares += cosine * cosine
    }
    const mean = sum / count
    return { mean, deviation: Math.sqrt(Math.max(1e-6, squares / count - mean * mean)) }
  }

  /** Takes an even sample of the tools that are embedded. @returns how many */
  #sample (): number {
    const step = Math.max(1, this.#tools.length / sampleMax)
    let count = 0
    for (let i = 0; i < this.#tools.length && count < sampleMax; i += step) {
      const slot = this.#tools[Math.floor(i)] ?? -1
      if (slot >= 0) this.#matrix.set(sample_row + count++, this.#matrix.at(rowsBefore + slot))
    }
    return count
  }

  /** Both are of length 1, so this is the cosine. */
  #cosine (slot: number, row: number): number {
    return this.#matrix.dot(rowsBefore + slot, row)
  }

  #assign (tool: number, slot: number): void {
    this.#sampled = undefined
    this.#tools[tool] = slot
    this.#toolsOf[slot]?.push(tool)
    this.#embedded++
  }

  /** Drops the vectors that are no longer wanted, and the graph, which can't forget. */
  #compact (): void {
    const matrix = new Matrix(this.#dimensions)
    const slots = new Map<string, number>()
    for (const [text, slot] of this.#slots) {
      matrix.set(rowsBefore + slots.size, this.#matrix.at(rowsBefore + slot))
      slots.set(text, slots.size)
    }
    this.#slots = slots
    this.#matrix = matrix
    this.#held = slots.size
    this.#graph = undefined
    this.#graphed = 0
  }
}
