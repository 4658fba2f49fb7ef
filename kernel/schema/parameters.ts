import type { JsonObject, ParameterDescriptor } from '../contracts/schemas.ts'

/** The longest string, in characters, that is checked with a pattern or a format. */
export const patternSubjectMax = 65_536
/** The maximum number of items for `uniqueItems`, which compares all pairs of items. */
export const uniqueItemsMax = 1_000

/** Fields of a descriptor that describe the parameter, and not its value. */
const notKeywords = new Set(['name', 'required', 'secret', 'allow_dash', 'from_client', 'mcp_header'])

/** JSON Schema keywords for the parameters together, which a tool may declare beside its parameters. */
export const RULE_KEYWORDS = [
  '$schema', '$defs', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas',
  'minProperties', 'maxProperties'
] as const

/**
 * Makes the JSON Schema (2020-12) of a tool's `parameters` object, which refuses unknown parameters.
 * @param rules keywords for the parameters together
 */
export function compileInputSchema (parameters: readonly ParameterDescriptor[], rules: JsonObject = {}): JsonObject {
  const properties: JsonObject = {}
  for (const parameter of parameters) {
    const keywords = Object.entries(parameter).filter(([key]) => !notKeywords.has(key))
    properties[parameter.name] = bound(Object.fromEntries(keywords))
  }
  const required = parameters.filter(parameter => parameter.required).map(parameter => parameter.name)
  const { $schema, ...further } = rules
  return {
    ...($schema !== undefined && { $schema }), type: 'object', properties, ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...Object.fromEntries(
      Object.entries(further).map(([key, value]) => [key, dataKeywords.has(key) ? value : bound(value)])
    )
  }
}

/** Keywords whose value is data and contains no schema. */
export const dataKeywords: ReadonlySet<string> = new Set([
  'default', 'const', 'enum', 'examples', 'required', 'dependentRequired', 'description', 'title'
])

/** Adds limits to a schema. Without these limits, the check of a value could take too long for its size. */
function bound (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(bound)
  if (typeof schema !== 'object' || schema === null) return schema
  const bounded: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) bounded[key] = dataKeywords.has(key) ? value : bound(value)
  if (typeof bounded['pattern'] === 'string' || typeof bounded['format'] === 'string') {
    bounded['maxLength'] ??= patternSubjectMax
  }
  if (bounded['uniqueItems'] === true) bounded['maxItems'] ??= uniqueItemsMax
  return bounded
}
