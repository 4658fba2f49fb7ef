import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { PreTrainedModel, PreTrainedTokenizer, Tensor } from '@huggingface/transformers'
import type { ThreadData } from './protocol.ts'
import { sentencesOf } from './sentences.ts'

/** Tokens of a text that are embedded at most; all-MiniLM-L6-v2 was trained on no more. */
const tokensMax = 256
/** The file in a model's folder that tells what its files must hash to, as `sha256sum` writes it. */
const sumsFile = 'SHA256SUMS'

/** A text's tokens, as the model takes them. */
interface Inputs { input_ids: Tensor }

/** A query's vector, and those of its sentences where it has several; of length 1. */
export interface Embedding { whole: Float32Array, parts: Float32Array[] }

/** A model that embeds texts, one at a time: in a batch of mixed lengths most of the work would be padding. */
export class Model {
  /** Tells it from all others: a hash of its weights and its tokenizer. */
  readonly id: string
  readonly dimensions: number
  readonly #tokenizer: PreTrainedTokenizer
  /** Tokens that stand for nothing of a text. */
  readonly #special: ReadonlySet<number>
  readonly #model: PreTrainedModel
  /** Takes the first token's vector, not the mean of all. */
  readonly #first: boolean

  private constructor (id: string, dimensions: number, tokenizer: PreTrainedTokenizer, model: PreTrainedModel, first: boolean) {
    this.id = id
    this.dimensions = dimensions
    this.#tokenizer = tokenizer
    this.#special = new Set(tokenizer.all_special_ids)
    this.#model = model
    this.#first = first
  }

  /** @throws Error when a file is missing or damaged, or a library can't be loaded on this machine */
  static async load ({ model: name, models_dir, allow_download, threads }: ThreadData): Promise<Model> {
    const local = isAbsolute(name)
    if (local) await checkSums(name)
    const { AutoModel, AutoTokenizer, env, LogLevel } = await import('@huggingface/transformers')
    env.logLevel = LogLevel.ERROR
    env.allowLocalModels = local
    env.localModelPath = local ? dirname(name) : models_dir
    env.allowRemoteModels = !local && allow_download
    env.cacheDir = models_dir
    const given = local ? basename(name) : name
    const local_files_only = !env.allowRemoteModels
    const dtype = local && !existsSync(join(name, 'onnx/model_quantized.onnx')) ? 'fp32' : 'q8'
    const tokenizer = await AutoTokenizer.from_pretrained(given, { local_files_only })
    const model = await AutoModel.from_pretrained(given, {
      dtype,
      local_files_only,
      // One text at a time has little to share among threads; what they share, they wait for by spinning.
      session_options: { intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: 'sequential', extra: { session: { intra_op: { allow_spinning: '0' } } } }
    })
    const folder = local ? name : join(models_dir, name)
    const made = new Model(await idOf(folder, `${name} ${dtype}`), 0, tokenizer, model, await takesFirst(folder))
    const vector = await made.embed('a test')
    if (!vector.every(Number.isFinite)) throw new Error('the model gives vectors that are none: a file of it must be damaged')
    return new Model(made.id, vector.length, tokenizer, model, await takesFirst(folder))
  }

  /** A text's vector. */
  async embed (text: string): Promise<Float32Array> {
    const { data, dimensions, tokens } = await this.#run(this.#tokenize(text, true))
    return this.#pool(data, dimensions, tokens)
  }

  /**
   * Embeds a query, and its sentences from the same pass: each is the mean of its own tokens, which have seen the whole.
   * @returns undefined when it knows less than half of the query's tokens: what it says of others is noise
   */
  async embedQuery (text: string): Promise<Embedding | undefined> {
    const inputs = this.#tokenize(text, true)
    if (!this.#knows(inputs)) return undefined
    const { data, dimensions, tokens } = await this.#run(inputs)
    const parts: Float32Array[] = []
    let from = 1 // behind [CLS]
    for (const sentence of this.#first ? [] : sentencesOf(text)) {
      const to = Math.min(from + lengthOf(this.#tokenize(sentence, false)), tokens - 1) // before [SEP]
      if (to > from) parts.push(pool(data, dimensions, from, to))
      from = to
    }
    return { whole: this.#pool(data, dimensions, tokens), parts }
  }

  async #run (inputs: Inputs): Promise<{ data: Float32Array, dimensions: number, tokens: number }> {
    const { last_hidden_state } = await this.#model(inputs) as { last_hidden_state?: Tensor }
    const [, tokens = 0, dimensions = 0] = last_hidden_state?.dims ?? []
    const data: unknown = last_hidden_state?.data
    if (!(data instanceof Float32Array) || tokens === 0 || data.length !== tokens * dimensions) throw new Error('the model does not give a vector for each token')
    return { data, dimensions, tokens }
  }

  #pool (data: Float32Array, dimensions: number, tokens: number): Float32Array {
    return pool(data, dimensions, 0, this.#first ? 1 : tokens)
  }

  /** Whether it knows at least half of a text's tokens, without those that stand around every text. */
  #knows ({ input_ids }: Inputs): boolean {
    let known = 0
    let unknown = 0
    for (const token of input_ids.data as BigInt64Array) { // which is the type of tokens
      const id = Number(token)
      if (id === this.#tokenizer.unk_token_id) unknown++
      else if (!this.#special.has(id)) known++
    }
    return known > 0 && known >= unknown
  }

  #tokenize (text: string, add_special_tokens: boolean): Inputs {
    return this.#tokenizer(text, { add_special_tokens, truncation: true, max_length: tokensMax }) as Inputs
  }
}

/** What an error says; without what Node says of modules behind the first line. */
export function reasonOf (error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
}

function lengthOf ({ input_ids }: Inputs): number {
  return input_ids.dims.at(-1) ?? 0
}

/** The mean of some tokens' vectors, brought to length 1. */
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

/** A model loads with damaged weights as well, and is only wrong then. @throws Error naming the file that is damaged */
async function checkSums (folder: string): Promise<void> {
  if (!existsSync(folder)) throw new Error(`there is no model in ${folder}`)
  const path = join(folder, sumsFile)
  if (!existsSync(path)) return
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    const [, sum, file] = /^([0-9a-f]{64})\s+\*?(\S+)$/.exec(line) ?? []
    if (file !== undefined && await hashOf(join(folder, file)) !== sum) throw new Error(`${join(folder, file)} is damaged: its hash is not the one in ${sumsFile}`)
  }
}

async function hashOf (path: string): Promise<string> {
  return createHash('sha256').update(await readFile(path)).digest('hex')
}

async function idOf (folder: string, name: string): Promise<string> {
  const files = ['onnx/model_quantized.onnx', 'onnx/model.onnx', 'tokenizer.json'].map(file => join(folder, file)).filter(existsSync)
  const sums = await Promise.all(files.map(hashOf))
  return createHash('sha256').update([sums.length > 1 ? '' : name, tokensMax, ...sums].join('\n')).digest('hex').slice(0, 32)
}

/** What the folder of a sentence-transformers model says of how tokens are pooled. */
async function takesFirst (folder: string): Promise<boolean> {
  const path = join(folder, '1_Pooling/config.json')
  return existsSync(path) && /"pooling_mode_cls_token"\s*:\s*true/.test(await readFile(path, 'utf8'))
}
