/** What is asked of the process that selects; without a text, whether it could. */
export interface Selecting { text?: string, grep?: string, jmespath?: string }
/** What it answers: the text, why there is none, or which expression is not valid. */
export type Selection = { text: string } | { failure: string } | { invalid: string }
export interface Answer { selection: Selection, /** Whether its memory is so full that the next one should have another process. */ spent: boolean }

/** The longest selection that is kept, in characters: an expression can make more out of little. */
export const selectedMax = 2_097_152
