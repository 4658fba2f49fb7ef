import type { HierarchicalNSW } from 'hnswlib-node'
import type { Found } from './protocol.ts'

/** Makes an index of the nearest; absent where hnswlib-node can't be loaded. */
export type MakeGraph = (dimensions: number, elements: number) => HierarchicalNSW

/** With fewer vectors, comparing with each is faster than the index and misses nothing. */
const graphMinDefault = 1_000
/** Of vectors in the index that are no longer wanted, before it is made anew. */
const staleShare = 0.5
/** How many vectors the mean and the deviation of cosines are taken of, at most. */
const sampleMax = 512
/** What cosines of unrelated texts are like, for sets of tools too small to tell; counts as so many tools. */
const usual = { mean: 0.1, deviation: 0.11, tools: 16 } as const

/**
 * The vectors of the texts that are embedded, each once, and which tool has which. Tools are numbered by the main thread
 * and change at once; vectors come one by one. With many, an HNSW graph finds the nearest in a millisecond or two; until
 * it holds all, and where only some tools are asked for, each is compared.
 */
export class Vectors {
  readonly #dimensions: number
  readonly #makeGraph: MakeGraph | undefined
  readonly #graphMin: number
  #slots = new Map<string, number>()
  #matrix: Float32Array
  /** Vectors in the matrix, wanted or not. */
  #held = 0
  /** Slot of each tool, -1 while its text is not embedded. */
  #tools = new Int32Array(0)
  #toolsOf: number[][] = []
  #waiting = new Map<string, number[]>()
  #embedded = 0
  #graph: HierarchicalNSW | undefined
  /** Slots below are in the graph. */
  #graphed = 0

  constructor (dimensions: number, makeGraph: MakeGraph | undefined, graphMin = graphMinDefault) {
    this.#dimensions = dimensions
    this.#makeGraph = makeGraph
    this.#graphMin = graphMin
    this.#matrix = new Float32Array(dimensions * 256)
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
    if (vector.length !== this.#dimensions || !vector.every(Number.isFinite)) throw new Error(`the model gave no vector of ${this.#dimensions} numbers for "${text.slice(0, 80)}"`)
    this.#waiting.delete(text)
    const slot = this.#held++
    if (this.#matrix.length < this.#held * this.#dimensions) {
      const larger = new Float32Array(this.#matrix.length * 2)
      larger.set(this.#matrix)
      this.#matrix = larger
    }
    this.#matrix.set(vector, slot * this.#dimensions)
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
    graph.addPoint([...this.#at(slot)], slot) // takes no typed array
    this.#graphed++
    if (this.#toolsOf[slot]?.length === 0) graph.markDelete(slot) // unwanted since before its turn
    return true
  }

  /**
   * The tools nearest to a query, and how near some others are.
   * @param whole the query's vector; @param parts those of its sentences: a tool counts by the mean of the whole and its best part
   */
  find (whole: Float32Array, parts: readonly Float32Array[], nearest: number, also: Uint32Array, among?: Uint32Array): Found {
    const candidates = new Set<number>()
    if (among !== undefined) this.#nearestAmong(among, whole, parts, nearest, candidates)
    else if (this.#graph !== undefined && this.#graphed === this.#held) this.#nearestInGraph(this.#graph, [whole, ...parts], nearest, candidates)
    else this.#nearestAmong(this.#tools.keys(), whole, parts, nearest, candidates)
    for (const tool of also) if ((this.#tools[tool] ?? -1) >= 0) candidates.add(tool)
    const tools = Uint32Array.from(candidates)
    return { tools, cosines: Float32Array.from(tools, tool => this.#near(this.#tools[tool] ?? 0, whole, parts)), ...this.#spread(whole) }
  }

  #nearestInGraph (graph: HierarchicalNSW, vectors: readonly Float32Array[], nearest: number, into: Set<number>): void {
    for (const [i, vector] of vectors.entries()) {
      const wanted = Math.min(i === 0 ? nearest : Math.ceil(nearest / 2), this.#slots.size)
      for (const slot of graph.searchKnn([...vector], wanted).neighbors) for (const tool of this.#toolsOf[slot] ?? []) into.add(tool)
    }
  }

  #nearestAmong (tools: Iterable<number>, whole: Float32Array, parts: readonly Float32Array[], nearest: number, into: Set<number>): void {
    const found: { tool: number, cosine: number }[] = []
    for (const tool of tools) {
      const slot = this.#tools[tool] ?? -1
      if (slot >= 0) found.push({ tool, cosine: this.#near(slot, whole, parts) })
    }
    found.sort((a, b) => b.cosine - a.cosine)
    for (const { tool } of found.slice(0, nearest)) into.add(tool)
  }

  #near (slot: number, whole: Float32Array, parts: readonly Float32Array[]): number {
    const all = this.#dot(slot, whole)
    if (parts.length === 0) return all
    let best = -1
    for (const part of parts) best = Math.max(best, this.#dot(slot, part))
    return (all + best) / 2
  }

  /** Mean and deviation of a query's cosines with all tools, by an even sample of them. */
  #spread (whole: Float32Array): { mean: number, deviation: number } {
    const step = Math.max(1, this.#tools.length / sampleMax)
    let count: number = usual.tools
    let sum = usual.mean * usual.tools
    let squares = (usual.deviation ** 2 + usual.mean ** 2) * usual.tools
    for (let i = 0; i < this.#tools.length; i += step) {
      const slot = this.#tools[Math.floor(i)] ?? -1
      if (slot < 0) continue
      const cosine = this.#dot(slot, whole)
      count++
      sum += cosine
      squares += cosine * cosine
    }
    const mean = sum / count
    return { mean, deviation: Math.sqrt(Math.max(1e-6, squares / count - mean * mean)) }
  }

  /** Both are of length 1, so this is the cosine. */
  #dot (slot: number, vector: Float32Array): number {
    const matrix = this.#matrix
    const from = slot * this.#dimensions
    // Four sums that do not wait for each other; twice as fast as one.
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    for (let i = 0; i < vector.length; i += 4) {
      a += (matrix[from + i] ?? 0) * (vector[i] ?? 0)
      b += (matrix[from + i + 1] ?? 0) * (vector[i + 1] ?? 0)
      c += (matrix[from + i + 2] ?? 0) * (vector[i + 2] ?? 0)
      d += (matrix[from + i + 3] ?? 0) * (vector[i + 3] ?? 0)
    }
    return a + b + c + d
  }

  #at (slot: number): Float32Array {
    return this.#matrix.subarray(slot * this.#dimensions, (slot + 1) * this.#dimensions)
  }

  #assign (tool: number, slot: number): void {
    this.#tools[tool] = slot
    this.#toolsOf[slot]?.push(tool)
    this.#embedded++
  }

  /** Drops the vectors that are no longer wanted, and the graph, which can't forget. */
  #compact (): void {
    const matrix = new Float32Array(this.#dimensions * Math.max(256, 2 * this.#slots.size))
    const slots = new Map<string, number>()
    for (const [text, slot] of this.#slots) {
      matrix.set(this.#at(slot), slots.size * this.#dimensions)
      slots.set(text, slots.size)
    }
    this.#slots = slots
    this.#matrix = matrix
    this.#held = slots.size
    this.#graph = undefined
    this.#graphed = 0
  }
}
