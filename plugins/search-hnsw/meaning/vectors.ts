import type { HierarchicalNSW } from 'hnswlib-node'
import { Best } from '../words/best.ts'
import { Matrix } from './matrix.ts'
import type { Found } from './protocol.ts'
import { sentencesMax } from '../words/sentences.ts'

/** Makes an HNSW graph; absent when hnswlib-node can't be loaded. */
export type MakeGraph = (dimensions: number, elements: number) => HierarchicalNSW

/** The number of vectors from which the graph is used. With fewer, comparing all is faster and exact. */
const graphMinDefault = 1_000
/** The share of unused vectors in the graph above which a new graph is made. */
const staleShare = 0.5
/** The maximum number of vectors from which the mean and the deviation of cosines are computed. */
const sampleMax = 256
/** The usual cosines of unrelated texts. They count like this number of tools, since a small set has no statistics. */
const usual = { mean: 0.1, deviation: 0.11, tools: 16 } as const
/** The row of a query in the matrix; the vectors of its sentences follow it. */
const query_row = 0
/** The first row of the sample of tools. The sample is a copy, since reading memory in order is faster. */
const sample_row = 1 + sentencesMax
/** The number of rows before the first vector of a tool. */
const rowsBefore = sample_row + sampleMax

/**
 * The vectors of the embedded texts, each once, and the vector of each tool. The main thread numbers the tools and
 * replaces them all at once; vectors are added one by one. With many vectors, an HNSW graph finds the nearest in a
 * millisecond or two. Until the graph has all vectors, and for a search among some tools, each vector is compared.
 */
export class Vectors {
  readonly #dimensions: number
  readonly #makeGraph: MakeGraph | undefined
  readonly #graphMin: number
  #slots = new Map<string, number>()
  #matrix: Matrix
  /** The number of vectors in the matrix, including unused ones. */
  #held = 0
  /** The slot of each tool; -1 while its text is not embedded. */
  #tools = new Int32Array(0)
  #toolsOf: number[][] = []
  #waiting = new Map<string, number[]>()
  #embedded = 0
  #graph: HierarchicalNSW | undefined
  /** The number of vectors in the sample; undefined when a new sample must be taken. */
  #sampled: number | undefined
  /** The number of slots in the graph: all slots below this number. */
  #graphed = 0

  constructor (dimensions: number, makeGraph: MakeGraph | undefined, graphMin = graphMinDefault) {
    this.#dimensions = dimensions
    this.#makeGraph = makeGraph
    this.#graphMin = graphMin
    this.#matrix = new Matrix(dimensions)
  }

  /** The texts that must be embedded, each once. */
  get waiting (): Iterable<string> {
    return this.#waiting.keys()
  }

  get progress (): { indexed: number, total: number } {
    return { indexed: this.#embedded, total: this.#tools.length }
  }

  /** Replaces the tools. The vectors of texts that are still used are kept; the others are removed. */
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
   * Sets the vector of a waiting text; without effect when the text does not wait any more.
   * @throws Error for an invalid vector, which hnswlib would accept and find for every query
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

  /** Adds a vector to the graph. Blocks for about a millisecond. @returns false when there is nothing to do */
  grow (): boolean {
    if (this.#makeGraph === undefined || this.#slots.size < this.#graphMin || this.#graphed === this.#held) return false
    const graph = this.#graph ??= this.#makeGraph(this.#dimensions, 2 * this.#held)
    if (this.#graphed >= graph.getMaxElements()) graph.resizeIndex(2 * this.#graphed) // a full graph throws
    const slot = this.#graphed
    graph.addPoint([...this.#matrix.at(rowsBefore + slot)], slot) // it does not accept a typed array
    this.#graphed++
    if (this.#toolsOf[slot]?.length === 0) graph.markDelete(slot) // the vector is not used any more
    return true
  }

  /**
   * The tools nearest to a query, and the tools of `also`, with their cosines.
   * @param whole the query's vector
   * @param parts the vectors of its sentences; a tool's cosine is the mean of that with the whole and the best of parts
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

  /** The mean and the standard deviation of a query's cosines with all tools, estimated from a sample. */
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

  /** Takes an even sample of the embedded tools. @returns the size of the sample */
  #sample (): number {
    const step = Math.max(1, this.#tools.length / sampleMax)
    let count = 0
    for (let i = 0; i < this.#tools.length && count < sampleMax; i += step) {
      const slot = this.#tools[Math.floor(i)] ?? -1
      if (slot >= 0) this.#matrix.set(sample_row + count++, this.#matrix.at(rowsBefore + slot))
    }
    return count
  }

  /** The cosine is the dot product, since both vectors have length 1. */
  #cosine (slot: number, row: number): number {
    return this.#matrix.dot(rowsBefore + slot, row)
  }

  #assign (tool: number, slot: number): void {
    this.#sampled = undefined
    this.#tools[tool] = slot
    this.#toolsOf[slot]?.push(tool)
    this.#embedded++
  }

  /** Removes the unused vectors, and the graph, from which vectors can't be removed. */
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
