import { RE2JS } from 're2js'

/** The longest pattern, in characters: what it costs to compile and to match grows with it. */
const patternMax = 10_000

/**
 * Patterns of a schema match in linear time: a backtracking engine can be made to hang by a pattern of ten characters.
 * JSON Schema has JavaScript's syntax; what of it can't be matched so (lookaround, backreferences) is refused.
 */
const linearTime = Object.assign(
  (pattern: string, _flags: string) => {
    if (pattern.length > patternMax) throw new Error(`a pattern is longer than ${patternMax} characters`)
    const compiled = compilePattern(pattern)
    return {
      test: (subject: string): boolean => compiled.matcher(subject).find(),
      toString: () => pattern // ajv tells patterns apart by this
    }
  },
  { code: 'linearTime' }
)

function compilePattern (pattern: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (error) {
    throw new Error(`the pattern ${JSON.stringify(pattern)} can't be matched in linear time (RE2, without lookaround and backreferences): ${messageOf(error)}`, { cause: error })
  }
}

/** Compiles a JSON Schema of the draft that its `$schema` names. @throws Error saying what is wrong with it */
export async function compile (schema: Record<string, unknown>): Promise<import('ajv').ValidateFunction> {
  const draft = String(schema['$schema'] ?? '')
  const options =
    { allErrors: true, strict: false, logger: false, validateFormats: true, code: { regExp: linearTime } } as const
  const { default: addFormats } = await import('ajv-formats')
  const ajv = /draft-0[67]/.test(draft)
    ? new (await import('ajv')).Ajv({ ...options, meta: true })
    : draft.includes('2019-09')
      ? new (await import('ajv/dist/2019.js')).Ajv2019(options)
      : new (await import('ajv/dist/2020.js')).Ajv2020(options)
  addFormats.default(ajv)
  try {
    return ajv.compile(schema)
  } catch (error) {
    throw new Error(`the schema can't be used: ${messageOf(error)}`, { cause: error })
  }
}

function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
