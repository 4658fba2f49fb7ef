import type { JsonObject } from '../../../kernel/index.ts'

/** The longest text, in characters. */
const charactersMax = 1_000

/** The parameters of a call in one line, cut where they are long. */
export function parametersText (parameters: JsonObject): string {
  const text = JSON.stringify(parameters)
  if (text.length <= charactersMax) return text
  return `${text.slice(0, charactersMax)}… (${text.length} characters; skillet show has all)`
}
