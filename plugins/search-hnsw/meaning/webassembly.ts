/**
 * The only file that uses onnxruntime-web, which the build copies next to it. WebAssembly needs no binary for the
 * platform, no compiler and no download.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Tokenizer } from '@huggingface/tokenizers'
import { tokensMax, type Runtime, type Tokens, type TokenVectors } from './runtime.ts'

const library = new URL('./onnxruntime-web/', import.meta.url)

/** The used part of the library. */
interface Library {
  env: { logLevel: 'error', wasm: { numThreads: number, wasmPaths: { mjs: string, wasm: string } } }
  InferenceSession: { create (model: Uint8Array, options: { executionProviders: string[] }): Promise<Session> }
  Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => OutputTensor
}
interface Session {
  readonly inputNames: readonly string[]
  run (inputs: Record<string, OutputTensor>): Promise<Record<string, OutputTensor>>
}
interface OutputTensor { readonly dims: readonly number[], readonly data: unknown }

/**
 * @param folder the absolute path of the model's folder
 * @param reason the reason why the native library is not used
 * @throws Error when a file is missing or damaged
 */
export async function loadWebAssembly (folder: string, reason: string): Promise<Runtime> {
  const [tokenizerFile, configFile] =
    await Promise.all(['tokenizer.json', 'tokenizer_config.json'].map(name => readJson(join(folder, name))))
  const tokenizer = new Tokenizer(tokenizerFile ?? {}, configFile ?? {})
  const quantized = join(folder, 'onnx/model_quantized.onnx')
  const weights = await readFile(existsSync(quantized) ? quantized : join(folder, 'onnx/model.onnx'))
  const ort = await import(new URL('ort.mjs', library).href) as Library // declared above: it is made by the build
  ort.env.logLevel = 'error'
  // Each further thread would be a worker: with two threads, a text took up to four times as long when the cores were
  // busy.
  ort.env.wasm.numThreads = 1
  ort.env.wasm.wasmPaths = {
    mjs: new URL('ort-wasm-simd-threaded.mjs', library).href,
    wasm: new URL('ort-wasm-simd-threaded.wasm', library).href
  }
  const session = await ort.InferenceSession.create(weights, { executionProviders: ['wasm'] })
  const special = [...tokenizer.get_added_tokens_decoder()].filter(([, token]) => token.special)
  return {
    name: 'onnxruntime-web',
    reason,
    unknown_id: unknownOf(tokenizer, tokenizerFile, configFile),
    special_ids: new Set(special.map(([id]) => id)),
    tokenize: (text, add_special_tokens) =>
      tokens(ort, session, tokenizer.encode(text, { add_special_tokens }).ids.slice(0, tokensMax))
  }
}

function tokens (ort: Library, session: Session, ids: readonly number[]): Tokens {
  return { ids, embed: () => run(ort, session, ids) }
}

async function run (ort: Library, session: Session, ids: readonly number[]): Promise<TokenVectors> {
  const dims = [1, ids.length]
  const inputs: Record<string, OutputTensor> = {}
  for (const name of session.inputNames) {
    const values = name === 'input_ids'
      ? BigInt64Array.from(ids, BigInt)
      : new BigInt64Array(ids.length).fill(name === 'attention_mask' ? 1n : 0n)
    inputs[name] = new ort.Tensor('int64', values, dims)
  }
  const output = (await session.run(inputs))['last_hidden_state']
  const [, count = 0, dimensions = 0] = output?.dims ?? []
  const data = output?.data
  if (!(data instanceof Float32Array) || count === 0 || data.length !== count * dimensions) {
    throw new Error('the model does not give a vector for each token')
  }
  return { data, dimensions, tokens: count }
}

/** The id of the token for unknown text, which the tokenizer's configuration or its model names. */
function unknownOf (tokenizer: Tokenizer, file: JsonFile, config: JsonFile): number | undefined {
  const named = config?.['unk_token'] ?? (file?.['model'] as JsonFile)?.['unk_token']
  const token = typeof named === 'object' && named !== null && 'content' in named ? named.content : named
  return typeof token === 'string' ? tokenizer.token_to_id(token) : undefined
}

type JsonFile = Record<string, unknown> | undefined

async function readJson (path: string): Promise<JsonFile> {
  const value: unknown = JSON.parse(await readFile(path, 'utf8'))
  if (typeof value !== 'object' || value === null) throw new Error(`${path} does not hold an object`)
  return { ...value }
}
