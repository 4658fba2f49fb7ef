/** What the main thread and the thread of the model say to each other. */

export interface ThreadData {
  /** A folder, or a name on the hub. */
  model: string
  /** Absolute path where downloaded models are kept. */
  models_dir: string
  allow_download: boolean
  /** Threads that compute one embedding. */
  threads: number
}

/**
 * A query, whose embedding begins at once; what else it is to be compared with follows in an `also`, without which it
 * is not answered.
 */
export interface QueryMessage {
  type: 'query'
  id: number
  /** That of the tools which can be found. */
  generation: number
  text: string
  /** How many of the nearest tools are wanted. */
  nearest: number
  /** The only tools to look among; absent: all. */
  among?: Uint32Array
}

export type ToThread =
  /** All tools that can be found from now on, by what is embedded of each; a tool's number is its place. */
  | { type: 'index', generation: number, texts: readonly string[] }
  | QueryMessage
  /** Tools, by number, that a query is to be compared with whether they are near or not. */
  | { type: 'also', id: number, tools: Uint32Array }
  /** A query's answer is no longer wanted. */
  | { type: 'forget', id: number }
  /**
   * It is to end, as soon as what it does is done: a thread that is ended within native code can take the process with
   * it.
   */
  | { type: 'end' }
  /** Values of the cache, in the order of the keys asked for. */
  | { type: 'cached', id: number, values: readonly (Uint8Array | undefined)[] }

/**
 * How near tools are to a query, by number; `mean` and `deviation` of all tools. Empty when the query means nothing to
 * the model.
 */
export interface Found {
  tools: Uint32Array
  cosines: Float32Array
  mean: number
  deviation: number
}

export type FromThread =
  /**
   * The model is loaded, into what is named `runtime`. `slower` tells why that is not the fastest one, `exact` why each
   * query is compared with every tool, where the index for many can't be used.
   */
  | { type: 'ready', model: string, dimensions: number, runtime: string, slower?: string, exact?: string }
  /** The model can't be loaded; the thread ends. */
  | { type: 'failed', reason: string }
  | { type: 'progress', generation: number, indexed: number, total: number }
  | { type: 'read', id: number, keys: readonly string[] }
  | { type: 'write', entries: readonly (readonly [string, Uint8Array])[] }
  | { type: 'found', id: number, found: Found }
  /** One query could not be answered. */
  | { type: 'error', id: number, reason: string }
