/** The vectors of a text's tokens, one after another: `tokens` times `dimensions` numbers. */
export interface TokenVectors { data: Float32Array, dimensions: number, tokens: number }

/** A text, split into tokens. */
export interface Tokens {
  readonly ids: ArrayLike<number>
  embed (): Promise<TokenVectors>
}

/** A library that computes a model. */
export interface Runtime {
  readonly name: 'onnxruntime-node' | 'onnxruntime-web'
  /** The reason why the slower onnxruntime-web is used. */
  readonly reason?: string
  /** The token for text that the model does not know. */
  readonly unknown_id: number | undefined
  /** Tokens that do not represent any text, such as [CLS]. */
  readonly special_ids: ReadonlySet<number>
  /** @param special whether the special tokens before and after a text are added */
  tokenize (text: string, special: boolean): Tokens
}

/** The maximum number of tokens of a text that are embedded; all-MiniLM-L6-v2 was trained with this maximum. */
export const tokensMax = 256

/** The first line of an error's message, without the text that Node adds after the name of a missing module. */
export function reasonOf (error: unknown): string {
  return ((error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '').replace(
    / imported from .*/,
    ''
  )
}
