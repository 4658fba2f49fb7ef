import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { ThreadData } from './protocol.ts'
import { reasonOf, tokensMax, type Runtime, type Tokens } from './runtime.ts'
import { sentencesOf } from '../words/sentences.ts'
import { loadTransformers, type Transformers } from './transformers.ts'
import { loadWebAssembly } from './webassembly.ts'

/** The file in a model's folder with the hashes of the other files, in the format of `sha256sum`. */
const sumsFile = 'SHA256SUMS'

/** The vector of a query, and the vectors of its sentences if it has several; all have length 1. */
export interface Embedding { whole: Float32Array, parts: Float32Array[] }

/** A model that embeds texts, one at a time: in a batch of different lengths, most of the work would be padding. */
export class Model {
  /** Identifies the model: a hash of its weights and its tokenizer. */
  readonly id: string
  readonly dimensions: number
  /** The runtime that computes the model. */
  readonly runtime: Runtime
  /** Whether the vector of a text is that of its first token, not the mean of all tokens. */
  readonly #first: boolean

  private constructor (id: string, dimensions: number, runtime: Runtime, first: boolean) {
    this.id = id
    this.dimensions = dimensions
    this.runtime = runtime
    this.#first = first
  }

  /**
   * @param library the function that loads the native library; a test passes a function that fails
   * @throws Error when a file is missing or damaged
   */
  static async load (data: ThreadData, library = loadLibrary): Promise<Model> {
    const { model: name, models_dir } = data
    const local = isAbsolute(name)
    if (local) await checkSums(name)
    const runtime = await loadRuntime(data, library)
    const folder = local ? name : join(models_dir, name)
    const dtype = local && !existsSync(join(name, 'onnx/model_quantized.onnx')) ? 'fp32' : 'q8'
    const made = new Model(await idOf(folder, `${name} ${dtype}`), 0, runtime, await takesFirst(folder))
    const vector = await made.embed('a test')
    if (!vector.every(Number.isFinite)) {
      throw new Error('the model gives vectors that are none: a file of it must be damaged')
    }
    return new Model(made.id, vector.length, runtime, await takesFirst(folder))
  }

  /** The vector of a text. */
  async embed (text: string): Promise<Float32Array> {
    const { data, dimensions, tokens } = await this.runtime.tokenize(text, true).embed()
    return this.#pool(data, dimensions, tokens)
  }

  /**
   * Embeds a query and its sentences in one pass: the vector of a sentence is the mean of its tokens, in the context of
   * the whole query.
   * @returns undefined when the model knows less than half of the query's tokens, since the vector would be noise
   */
  async embedQuery (text: string): Promise<Embedding | undefined> {
    const tokenized = this.runtime.tokenize(text, true)
    if (!this.#knows(tokenized)) return undefined
    const { data, dimensions, tokens } = await tokenized.embed()
    const parts: Float32Array[] = []
    let from = 1 // after [CLS]
    for (const sentence of this.#first ? [] : sentencesOf(text)) {
      const to = Math.min(from + this.runtime.tokenize(sentence, false).ids.length, tokens - 1) // before [SEP]
      if (to > from) parts.push(pool(data, dimensions, from, to))
      from = to
    }
    return { whole: this.#pool(data, dimensions, tokens), parts }
  }

  #pool (data: Float32Array, dimensions: number, tokens: number): Float32Array {
    return pool(data, dimensions, 0, this.#first ? 1 : tokens)
  }

  /** Whether the model knows at least half of a text's tokens, without counting special tokens. */
  #knows ({ ids }: Tokens): boolean {
    const { unknown_id, special_ids } = this.runtime
    let knownCount = 0
    let unknownCount = 0
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] ?? 0
      if (id === unknown_id) unknownCount++
      else if (!special_ids.has(id)) knownCount++
    }
    return knownCount > 0 && knownCount >= unknownCount
  }
}

function loadLibrary (): Promise<Transformers> {
  return import('@huggingface/transformers')
}

/**
 * Loads a model into the native library, or, when that can't be loaded, into WebAssembly, which is slower and computes
 * the same vectors.
 * @throws Error when a file of the model is missing or damaged, or when the model is a name on the hub, which only the
 * native library can download
 */
async function loadRuntime (data: ThreadData, library: () => Promise<Transformers>): Promise<Runtime> {
  let transformers: Transformers
  try {
    transformers = await library()
  } catch (error) {
    const reason = `@huggingface/transformers can't be loaded: ${reasonOf(error)}`
    if (!isAbsolute(data.model)) {
      throw new Error(`${data.model} is a name on the hub, which only a folder can stand for here, since ${reason}`, {
        cause: error
      })
    }
    return loadWebAssembly(data.model, reason)
  }
  return loadTransformers(transformers, data)
}

/** The mean of the vectors of some tokens, normalized to length 1. */
function pool (data: Float32Array, dimensions: number, from: number, to: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (let token = from; token < to; token++) {
    const at = token * dimensions
    for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] ?? 0) + (data[at + i] ?? 0)
  }
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares) || 1
  for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] ?? 0) / length
  return vector
}

/**
 * Checks the hashes of a model's files, since a model with damaged weights loads and only gives wrong vectors.
 * @throws Error naming the damaged file
 */
async function checkSums (folder: string): Promise<void> {
  if (!existsSync(folder)) throw new Error(`there is no model in ${folder}`)
  const path = join(folder, sumsFile)
  if (!existsSync(path)) return
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    const [, sum, file] = /^([0-9a-f]{64})\s+\*?(\S+)$/.exec(line) ?? []
    if (file !== undefined && await hashOf(join(folder, file)) !== sum) {
      throw new Error(`${join(folder, file)} is damaged: its hash is not the one in ${sumsFile}`)
    }
  }
}

async function hashOf (path: string): Promise<string> {
  return createHash('sha256').update(await readFile(path)).digest('hex')
}

async function idOf (folder: string, name: string): Promise<string> {
  const files = ['onnx/model_quantized.onnx', 'onnx/model.onnx', 'tokenizer.json'].map(file => join(folder, file))
    .filter(existsSync)
  const sums = await Promise.all(files.map(hashOf))
  return createHash('sha256')
    .update([sums.length > 1 ? '' : name, tokensMax, ...sums].join('\n'))
    .digest('hex')
    .slice(0, 32)
}

/** Whether the pooling of a sentence-transformers model uses the first token, by the configuration in its folder. */
async function takesFirst (folder: string): Promise<boolean> {
  const path = join(folder, '1_Pooling/config.json')
  return existsSync(path) && /"pooling_mode_cls_token"\s*:\s*true/.test(await readFile(path, 'utf8'))
}
