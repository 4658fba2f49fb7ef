/** A request to the process that selects. Without a text, the process only checks whether the expressions are valid. */
export interface Selecting {
  text?: string
  grep?: string
  jmespath?: string
  /** Whether the selected value is returned as JSON, also where it is a text. */
  json?: boolean
}
/** The result: the selected text, the reason of a failure, or the expression that is not valid. */
export type Selection = { text: string } | { failure: string } | { invalid: string }
export interface Answer {
  selection: Selection
  /** Whether its memory is so full that the next selection should run in another process. */ spent: boolean
}

/** The longest selection that is returned, in characters: an expression can make a long text from a short one. */
export const selectedMax = 2_097_152
