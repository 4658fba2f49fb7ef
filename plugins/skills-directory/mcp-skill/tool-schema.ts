import { compileCheck, isObject, type JsonObject } from '../../../kernel/index.ts'

/**
 * Schemas of MCP servers, as the kernel's check takes them. Servers write several versions of JSON Schema, with
 * keywords of their own. What only describes is left out; what is written differently in older versions is rewritten;
 * what has no meaning here is an error. The server checks the parameters once more.
 */

const depthMax = 64
const nodesMax = 10_000
const bytesMax = 262_144
/** The longest string that is checked with a pattern or a format, and the most items that `uniqueItems` compares. */
const limits = { subject: 65_536, unique: 1_000 }

const types = new Set(['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'])
const formats = new Set([
  'date', 'time', 'date-time', 'duration', 'uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'ipv4', 'ipv6',
  'uuid', 'json-pointer', 'relative-json-pointer', 'regex', 'byte'
])
const schemaMaps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const schemaLists = new Set(['anyOf', 'allOf', 'oneOf', 'prefixItems'])
const schemas = new Set(['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'items'])
const numbers = new Set([
  'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems',
  'maxItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'
])
const texts = new Set(['title', 'description'])
const values = new Set(['default', 'const', 'deprecated', 'readOnly', 'writeOnly'])

/** The schema of a tool's parameters. @throws Error in one line: what can't be used of it */
export function inputSchemaOf (schema: unknown): JsonObject {
  if (!isObject(schema)) throw new Error('its inputSchema is no JSON Schema')
  if (schema['type'] !== undefined && schema['type'] !== 'object') {
    throw new Error('its inputSchema does not describe an object')
  }
  const text = JSON.stringify(schema)
  if (text.length > bytesMax) throw new Error(`its inputSchema has more than ${bytesMax} characters`)
  if (text.includes('"__proto__"')) throw new Error('its inputSchema has a key "__proto__"')
  const usable = { ...rewritten(schema, 0, { nodes: 0 }), type: 'object' }
  compileCheck(usable, 'parameters')
  return usable
}

interface Count { nodes: number }

function rewritten (schema: JsonObject, depth: number, count: Count): JsonObject {
  if (depth > depthMax) throw new Error(`its inputSchema is nested deeper than ${depthMax} levels`)
  if (++count.nodes > nodesMax) throw new Error(`its inputSchema has more than ${nodesMax} parts`)
  const inner = (value: unknown): unknown => {
    if (isObject(value)) return rewritten(value, depth + 1, count)
    return typeof value === 'boolean' ? value : {}
  }
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    const kept = keptValue(key, value, inner)
    if (kept !== undefined) result[key] = kept
  }
  takeOlder(schema, result, inner)
  return consistent(result)
}

/** The value of a keyword; undefined for one that is left out. */
function keptValue (key: string, value: unknown, inner: (value: unknown) => unknown): unknown {
  if (schemaMaps.has(key)) {
    if (!isObject(value)) return undefined
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, inner(schema)]))
  }
  if (schemaLists.has(key)) return Array.isArray(value) && value.length > 0 ? value.map(inner) : undefined
  if (schemas.has(key)) return Array.isArray(value) ? undefined : inner(value)
  if (numbers.has(key)) return typeof value === 'number' && Number.isFinite(value) ? value : undefined
  if (texts.has(key)) return typeof value === 'string' ? value : undefined
  if (values.has(key)) return value
  switch (key) {
    case 'type': return typeOf(value)
    case 'enum': return Array.isArray(value) && value.length > 0 ? [...new Set(value)] : undefined
    case 'examples': return Array.isArray(value) ? value : undefined
    case 'required': return Array.isArray(value) ? [
      ...new Set(value.filter(name => typeof name === 'string'))
    ] : undefined
    case 'uniqueItems': return value === true ? true : undefined
    case 'pattern': return typeof value === 'string' && isPattern(value) ? value : undefined
    case 'format': return typeof value === 'string' && formats.has(value) ? value : undefined
    case 'dependentRequired': return isObject(value) ? value : undefined
    case '$ref': return reference(value)
    case '$dynamicRef': case '$recursiveRef': throw new Error(`its inputSchema uses ${key}, which is not supported`)
    default: return undefined
  }
}

function typeOf (value: unknown): unknown {
  const known = [value].flat().filter(type => typeof type === 'string' && types.has(type))
  return known.length === 0 ? undefined : known.length === 1 ? known[0] : [...new Set(known)]
}

/** Only references within the schema: nothing is fetched. */
function reference (value: unknown): string {
  if (typeof value !== 'string' || !/^#(\/|$)/.test(value)) {
    throw new Error(`its inputSchema refers to ${JSON.stringify(value)?.slice(0, 200)}; only parts of the same schema can be referred to`)
  }
  return value
}

/** Keywords of older versions, and of OpenAPI. */
function takeOlder (schema: JsonObject, result: JsonObject, inner: (value: unknown) => unknown): void {
  const { items, additionalItems, dependencies, nullable, example } = schema
  if (Array.isArray(items)) {
    if (items.length > 0) result['prefixItems'] = items.map(inner)
    if (additionalItems !== undefined) result['items'] = inner(additionalItems)
  }
  for (const [key, limit] of [['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']] as const) {
    if (schema[key] !== true || result[limit] === undefined) continue
    result[key] = result[limit]
    delete result[limit]
  }
  if (isObject(dependencies)) {
    const entries = Object.entries(dependencies)
    const names = entries.filter(([, value]) => Array.isArray(value))
    const rest = entries.filter(([, value]) => !Array.isArray(value))
    if (names.length > 0) result['dependentRequired'] = Object.fromEntries(names)
    if (rest.length > 0) result['dependentSchemas'] = Object.fromEntries(
      rest.map(([name, value]) => [name, inner(value)])
    )
  }
  if (nullable === true && result['type'] !== undefined) {
    result['type'] = [...new Set([result['type'], 'null'].flat())]
    if (Array.isArray(result['enum'])) result['enum'] = [...new Set([...result['enum'] as unknown[], null])]
  }
  if (example !== undefined && result['examples'] === undefined) result['examples'] = [example]
}

/** Leaves out keywords that have no meaning without another one, and limits the work of a check. */
function consistent (schema: JsonObject): JsonObject {
  if (schema['if'] === undefined || (schema['then'] === undefined && schema['else'] === undefined)) {
    delete schema['if']
    delete schema['then']
    delete schema['else']
  }
  if (schema['contains'] === undefined) {
    delete schema['minContains']
    delete schema['maxContains']
  }
  if (schema['pattern'] !== undefined || schema['format'] !== undefined) schema['maxLength'] ??= limits.subject
  if (schema['uniqueItems'] === true) schema['maxItems'] ??= limits.unique
  return schema
}

const patterns = new Map<string, boolean>()
const patternsMax = 10_000

/** Whether the kernel's check can use a pattern: it takes no lookaround and no backreferences. */
function isPattern (pattern: string): boolean {
  let usable = patterns.get(pattern)
  if (usable === undefined) {
    try {
      compileCheck({ type: 'string', pattern }, 'pattern', { checked: true })
      usable = true
    } catch {
      usable = false
    }
    if (patterns.size < patternsMax) patterns.set(pattern, usable)
  }
  return usable
}
