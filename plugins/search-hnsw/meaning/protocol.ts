/** The data with which the thread of the model is started. The messages between the threads follow below. */

export interface ThreadData {
  /** A folder, or a name on the hub. */
  model: string
  /** The absolute path of the folder for downloaded models. */
  models_dir: string
  allow_download: boolean
  /** The number of threads that compute an embedding. */
  threads: number
}

/**
 * A query, whose embedding begins at once. The query is answered after the message `also`, which has additional tools
 * to compare it with.
 */
export interface QueryMessage {
  type: 'query'
  id: number
  /** The generation of the tools that the query is about. */
  generation: number
  text: string
  /** The number of nearest tools in the answer. */
  nearest: number
  /** The numbers of the only tools to search; absent: all tools. */
  among?: Uint32Array
}

export type ToThread =
  /** Replaces the tools: the text of each tool for the embedding. The number of a tool is its index. */
  | { type: 'index', generation: number, texts: readonly string[] }
  | QueryMessage
  /** The numbers of additional tools that a query must be compared with, even if they are not near. */
  | { type: 'also', id: number, tools: Uint32Array }
  /** Cancels a query. */
  | { type: 'forget', id: number }
  /**
   * Ends the thread after its current work. A thread that is terminated while native code runs can crash the process.
   */
  | { type: 'end' }
  /** Values from the cache, in the order of the requested keys. */
  | { type: 'cached', id: number, values: readonly (Uint8Array | undefined)[] }

/**
 * The cosines of tools with a query, and the mean and the standard deviation of the cosines of all tools. Without tools
 * when the model does not know the words of the query.
 */
export interface Found {
  tools: Uint32Array
  cosines: Float32Array
  mean: number
  deviation: number
}

export type FromThread =
  /**
   * The model is loaded. `slower` is the reason why the runtime is not the fastest one; `exact` is the reason why the
   * index can't be used, so that each query is compared with every tool.
   */
  | { type: 'ready', model: string, dimensions: number, runtime: string, slower?: string, exact?: string }
  /** The model can't be loaded; the thread ends. */
  | { type: 'failed', reason: string }
  | { type: 'progress', generation: number, indexed: number, total: number }
  | { type: 'read', id: number, keys: readonly string[] }
  | { type: 'write', entries: readonly (readonly [string, Uint8Array])[] }
  | { type: 'found', id: number, found: Found }
  /** A query could not be answered. */
  | { type: 'error', id: number, reason: string }
