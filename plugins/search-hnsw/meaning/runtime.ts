/** The vectors of a text's tokens, one after the other: `tokens` times `dimensions` numbers. */
export interface TokenVectors { data: Float32Array, dimensions: number, tokens: number }

/** A text, taken apart into tokens. */
export interface Tokens {
  readonly ids: ArrayLike<number>
  embed (): Promise<TokenVectors>
}

/** What computes a model. */
export interface Runtime {
  readonly name: 'onnxruntime-node' | 'onnxruntime-web'
  /** Why the slower onnxruntime-web serves. */
  readonly reason?: string
  /** The token for what the model does not know. */
  readonly unknown_id: number | undefined
  /** Tokens that stand for nothing of a text. */
  readonly special_ids: ReadonlySet<number>
  /** @param special whether tokens that stand around every text are added */
  tokenize (text: string, special: boolean): Tokens
}

/** Tokens of a text that are embedded at most; all-MiniLM-L6-v2 was trained on no more. */
export const tokensMax = 256

/** What an error says; without what Node says of modules behind the name of the one that is missing. */
export function reasonOf (error: unknown): string {
  return ((error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '').replace(
    / imported from .*/,
    ''
  )
}
