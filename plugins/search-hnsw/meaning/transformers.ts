/** The only file that uses @huggingface/transformers, which computes with onnxruntime-node. */
import { existsSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { PreTrainedModel, PreTrainedTokenizer, Tensor } from '@huggingface/transformers'
import type { ThreadData } from './protocol.ts'
import { tokensMax, type Runtime, type Tokens, type TokenVectors } from './runtime.ts'

export type Transformers =
  Pick<typeof import('@huggingface/transformers'), 'AutoModel' | 'AutoTokenizer' | 'env' | 'LogLevel'>

/** The tokens of a text, in the form of the model's input. */
interface Inputs { input_ids: Tensor }

/** @throws Error when a file is missing or damaged */
export async function loadTransformers (
  { AutoModel, AutoTokenizer, env, LogLevel }: Transformers,
  { model: name, models_dir, allow_download, threads }: ThreadData
): Promise<Runtime> {
  const local = isAbsolute(name)
  env.logLevel = LogLevel.ERROR
  env.allowLocalModels = local
  env.localModelPath = local ? dirname(name) : models_dir
  env.allowRemoteModels = !local && allow_download
  env.cacheDir = models_dir
  const modelName = local ? basename(name) : name
  const local_files_only = !env.allowRemoteModels
  const tokenizer = await AutoTokenizer.from_pretrained(modelName, { local_files_only })
  const model = await AutoModel.from_pretrained(modelName, {
    dtype: local && !existsSync(join(name, 'onnx/model_quantized.onnx')) ? 'fp32' : 'q8',
    local_files_only,
    // A single text gives several threads little work, and threads wait for each other in a busy loop.
    session_options: {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      extra: { session: { intra_op: { allow_spinning: '0' } } }
    }
  })
  return {
    name: 'onnxruntime-node',
    unknown_id: tokenizer.unk_token_id,
    special_ids: new Set(tokenizer.all_special_ids),
    tokenize: (text, special) => tokenize(tokenizer, model, text, special)
  }
}

function tokenize (tokenizer: PreTrainedTokenizer, model: PreTrainedModel, text: string, special: boolean): Tokens {
  const inputs = tokenizer(text, { add_special_tokens: special, truncation: true, max_length: tokensMax }) as Inputs
  return {
    ids: Array.from(inputs.input_ids.data as BigInt64Array, Number), // tokens have this type
    embed: () => run(model, inputs)
  }
}

async function run (model: PreTrainedModel, inputs: Inputs): Promise<TokenVectors> {
  const { last_hidden_state } = await model(inputs) as { last_hidden_state?: Tensor }
  const [, tokens = 0, dimensions = 0] = last_hidden_state?.dims ?? []
  const data: unknown = last_hidden_state?.data
  if (!(data instanceof Float32Array) || tokens === 0 || data.length !== tokens * dimensions) {
    throw new Error('the model does not give a vector for each token')
  }
  return { data, dimensions, tokens }
}
