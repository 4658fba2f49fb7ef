import { RE2JS } from 're2js'
import { isObject, patternMax, type JsonObject } from '../../../kernel/index.ts'
import { depthMax, schemasMax, schemaTextMax } from './limits.ts'
import type { References } from './references.ts'
import { own, short, textAt } from './values.ts'

const TYPES = new Set(['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'])
/** Formats whose check is as strict as what servers accept. */
const FORMATS = new Set(['date', 'date-time', 'uuid', 'ipv4', 'ipv6', 'int32', 'int64', 'float', 'double'])
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']

/**
 * The schemas of one tool, as JSON Schema 2020-12 for values that are sent. What several places refer to, or what
 * refers to itself, is in `defs` once. Keywords that say nothing of a request are left out.
 */
export class RequestSchemas {
  /** The schemas that references name, for `$defs`. */
  readonly defs: JsonObject = {}
  readonly #references: References
  readonly #names = new Map<string, string>()
  #left = schemasMax

  constructor (references: References) {
    this.#references = references
  }

  /** @throws Error when a reference leads nowhere */
  convert (schema: unknown, depth = 0): JsonObject {
    if (schema === false) return { not: {} }
    if (!isObject(schema) || depth > depthMax || this.#left-- <= 0) return {}
    const reference = textAt(schema, '$ref')
    if (reference !== undefined) return { $ref: `#/$defs/${this.#define(reference, depth)}`, ...textsOf(schema) }
    return {
      ...typeOf(schema), ...textsOf(schema), ...numbersOf(schema), ...stringsOf(schema),
      ...this.#inner(schema, depth + 1)
    }
  }

  #define (reference: string, depth: number): string {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const last = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9_.-]+/g, '_') || 'Schema'
    let name = last
    for (let i = 2; name in this.defs; i++) name = `${last}_${i}`
    this.#names.set(reference, name)
    this.defs[name] = {} // stands here while the schema is converted: it may refer to itself
    this.defs[name] = this.convert(this.#references.at(reference), depth + 1)
    return name
  }

  /** The keywords that hold schemas. */
  #inner (schema: JsonObject, depth: number): JsonObject {
    const converted: JsonObject = {}
    const { hidden, ...properties } = this.#properties(schema, depth)
    Object.assign(converted, properties)
    const required = Array.isArray(schema['required'])
      ? schema['required'].filter(name => typeof name === 'string' && !hidden.includes(name)) : []
    if (required.length > 0) converted['required'] = [...new Set(required)]
    for (const key of ['items', 'not', 'propertyNames', 'contains']) {
      if (isObject(schema[key])) converted[key] = this.convert(schema[key], depth)
    }
    const { additionalProperties: further } = schema
    if (typeof further === 'boolean') converted['additionalProperties'] = further
    else if (isObject(further)) converted['additionalProperties'] = this.convert(further, depth)
    const { prefixItems, allOf } = schema
    if (Array.isArray(prefixItems) && prefixItems.length > 0) converted['prefixItems'] = this.#each(prefixItems, depth)
    if (Array.isArray(allOf) && allOf.length > 0) converted['allOf'] = this.#each(allOf, depth)
    // Documents say oneOf of schemas that overlap, which servers accept.
    const choices = [schema['anyOf'], schema['oneOf']].filter(Array.isArray).filter(list => list.length > 0)
      .map(list => this.#each(list, depth))
    const [first, second] = choices
    if (first !== undefined) converted['anyOf'] = first
    if (second !== undefined) {
      converted['allOf'] = [...Array.isArray(converted['allOf']) ? converted['allOf'] : [], { anyOf: second }]
    }
    return converted
  }

  /** `hidden`: what only answers have. */
  #properties (schema: JsonObject, depth: number): { properties?: JsonObject, hidden: string[] } {
    const { properties } = schema
    if (!isObject(properties)) return { hidden: [] }
    const hidden = Object.keys(properties)
      .filter(name => isObject(properties[name]) && properties[name]['readOnly'] === true)
    const shown = Object.entries(properties).filter(([name]) => !hidden.includes(name))
    return {
      properties: Object.fromEntries(shown.map(([name, inner]) => [name, this.convert(inner, depth)])), hidden
    }
  }

  #each (schemas: readonly unknown[], depth: number): JsonObject[] {
    return schemas.map(schema => this.convert(schema, depth))
  }
}

/** `type` and values; `nullable` is of version 3.0. */
function typeOf (schema: JsonObject): JsonObject {
  const { type, enum: values, const: value, nullable } = schema
  const types = [type].flat().map(name => name === 'file' ? 'string' : name)
    .filter((name): name is string => typeof name === 'string' && TYPES.has(name))
  if (nullable === true && types.length > 0 && !types.includes('null')) types.push('null')
  const allowed = Array.isArray(values) && values.length > 0 ? [...values as unknown[]] : undefined
  if (nullable === true && allowed !== undefined && !allowed.includes(null)) allowed.push(null)
  return {
    ...(types.length > 0 && { type: types.length === 1 ? types[0] : [...new Set(types)] }),
    ...(allowed !== undefined && { enum: allowed }), ...(value !== undefined && { const: value })
  }
}

/** Words about a value. Its default is the server's to fill in, so it is said and not set. */
function textsOf (schema: JsonObject): JsonObject {
  const format = textAt(schema, 'format')
  const initial = own(schema, 'default')
  const words = [
    textAt(schema, 'description') ?? textAt(schema, 'title') ?? '',
    format === undefined || FORMATS.has(format) ? '' : `(${format.slice(0, 40)})`,
    initial === undefined || initial === null ? '' : `Default: ${short(JSON.stringify(initial), 100)}`
  ].filter(text => text !== '').join(' ')
  return { ...(words !== '' && { description: short(words, schemaTextMax) }) }
}

function numbersOf (schema: JsonObject): JsonObject {
  const kept: JsonObject = {}
  const number = (key: string): number | undefined =>
    typeof schema[key] === 'number' && Number.isFinite(schema[key]) ? schema[key] : undefined
  for (const [limit, exclusive] of [['minimum', 'exclusiveMinimum'], ['maximum', 'exclusiveMaximum']] as const) {
    const value = number(limit)
    if (value !== undefined) kept[schema[exclusive] === true ? exclusive : limit] = value // true is of version 3.0
    const bound = number(exclusive)
    if (bound !== undefined) kept[exclusive] = bound
  }
  const multiple = number('multipleOf')
  if (multiple !== undefined && multiple > 0) kept['multipleOf'] = multiple
  for (const key of COUNTS) {
    const count = number(key)
    if (count !== undefined && count >= 0 && Number.isInteger(count)) kept[key] = count
  }
  if (schema['uniqueItems'] === true) kept['uniqueItems'] = true
  return kept
}

function stringsOf (schema: JsonObject): JsonObject {
  const format = textAt(schema, 'format')
  const pattern = textAt(schema, 'pattern')
  return {
    ...(format !== undefined && FORMATS.has(format) && { format }),
    ...(pattern !== undefined && isUsable(pattern) && { pattern })
  }
}

/** Patterns that were looked at: the schemas of many tools have the same. */
const usable = new Map<string, boolean>()
/** The most of them that are kept. */
const usableMax = 1_000

/** Whether a pattern can be matched in linear time; the server checks the others. */
function isUsable (pattern: string): boolean {
  if (pattern.length > patternMax) return false
  const known = usable.get(pattern)
  if (known !== undefined) return known
  if (usable.size >= usableMax) usable.clear()
  const compiles = canCompile(pattern)
  usable.set(pattern, compiles)
  return compiles
}

function canCompile (pattern: string): boolean {
  try {
    RE2JS.compile(pattern)
    return true
  } catch {
    return false
  }
}
