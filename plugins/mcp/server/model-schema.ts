import { isObject, type JsonObject } from '../../../kernel/index.ts'

/**
 * Keywords that stay in the schema: the strict modes of models, and Gemini's own kind of schema, refuse most others.
 */
const kept = new Set([
  'type', 'title', 'description', 'minimum', 'maximum', 'minItems', 'maxItems', 'pattern', '$ref', 'x-mcp-header'
])

/** The only format of strings that all models accept. */
const keptFormat = 'date-time'

/** The replacement for a schema that allows any value: every schema must name a type. */
const anyValue: readonly JsonObject[] = ['string', 'number', 'boolean'].map(type => ({ type }))

/**
 * The schema of a tool's input in the form that models get. Keywords that the clients' converters refuse are left out
 * or put into the description, since the server checks calls against the whole schema anyway. Optional values may be
 * null, because in strict modes a model must name every property. A schema that names its dialect was written by the
 * skill's author, and stays as it is.
 */
export function modelSchema (schema: JsonObject): JsonObject {
  if ('$schema' in schema) return schema
  const { properties, required, $defs } = schema
  const needed = Array.isArray(required) ? required : []
  const shown = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    const property = convert(schema)
    const mayBeAbsent = !needed.includes(name) || hasDefault(schema)
    return { name, mayBeAbsent, property: mayBeAbsent && !('x-mcp-header' in property) ? nullable(property) : property }
  })
  const must = shown.filter(({ mayBeAbsent }) => !mayBeAbsent).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map(({ name, property }) => [name, property])),
    ...(must.length > 0 && { required: must }),
    ...(isObject($defs) && { $defs: each($defs) })
  }
}

function hasDefault (schema: unknown): boolean {
  return isObject(schema) && 'default' in schema
}

function each (schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convert(schema)]))
}

/** A schema within another. */
function convert (schema: unknown): JsonObject {
  if (!isObject(schema)) return { anyOf: [...anyValue] }
  const { type, properties, required, items, anyOf, oneOf, enum: values, const: value, format } = schema
  const shown = Object.fromEntries(Object.entries(schema).filter(([key]) => kept.has(key)))
  const words = inWords(schema)
  if (words !== '') shown['description'] = 'description' in shown ? `${String(shown['description'])} (${words})` : words
  if (format === keptFormat) shown['format'] = format
  if (isObject(properties)) {
    Object.assign(shown, { type: 'object', properties: each(properties), ...(Array.isArray(required) && { required }) })
  }
  if (type === 'array') shown['items'] = convert(items)
  const allowed = Array.isArray(values) ? values : value === undefined ? undefined : [value]
  if (allowed !== undefined) return ofValues(shown, allowed)
  if (Array.isArray(type)) return ofTypes(shown, type, items)
  const choices = Array.isArray(anyOf) ? anyOf
    : Array.isArray(oneOf) ? oneOf
    : type === undefined && !('$ref' in shown) && !('type' in shown) ? anyValue
    : undefined
  return choices === undefined || 'type' in shown ? shown : { ...shown, anyOf: choices.map(convert) }
}

/** Only strings may be listed in `enum`; other values are put into the description. */
function ofValues (shown: JsonObject, values: readonly unknown[]): JsonObject {
  const present = values.filter(value => value !== null)
  if (present.every(isName)) Object.assign(shown, { type: 'string', enum: present })
  if (typeof shown['type'] !== 'string') {
    Object.assign(
      shown,
      ofTypes({}, [...new Set(present.map(value => typeof value))].filter(type => type !== 'object'), undefined)
    )
  }
  return present.length < values.length ? nullable(shown) : shown
}

/** A list of types becomes alternatives: Gemini does not accept a list of types. */
function ofTypes (
  { type: _types, items: _items, ...shown }: JsonObject,
  types: readonly unknown[],
  items: unknown
): JsonObject {
  const alternatives = types.filter(type => type !== 'null')
    .map(type => ({ type, ...(type === 'array' && { items: convert(items) }) }))
  const [only] = alternatives
  const combined = alternatives.length === 1 && only !== undefined
    ? { ...shown, ...only }
    : { ...shown, anyOf: alternatives.length === 0 ? [...anyValue] : alternatives }
  return types.includes('null') ? nullable(combined) : combined
}

/** The description goes into the alternative that is not null: Gemini's client drops a description outside of it. */
function nullable (shown: JsonObject): JsonObject {
  const { anyOf, ...rest } = shown
  if (!Array.isArray(anyOf)) return { anyOf: [shown, { type: 'null' }] }
  return anyOf.some(alternative => isObject(alternative) && alternative['type'] === 'null')
    ? shown
    : { ...rest, anyOf: [...anyOf as unknown[], { type: 'null' }] }
}

/** The keywords that are left out of the schema but matter to a model, as text. */
function inWords ({ default: preset, format, enum: values, const: value }: JsonObject): string {
  const allowed = Array.isArray(values) ? values : value === undefined ? [] : [value]
  const isPreset =
    preset !== undefined && preset !== null && (typeof preset !== 'object' || Object.keys(preset).length > 0)
  return [
    ...(allowed.every(value => value === null || isName(value))
      ? []
      : [`one of ${allowed.map(value => JSON.stringify(value)).join(', ')}`]),
    ...(typeof format === 'string' && format !== keptFormat ? [`format ${format}`] : []),
    ...(isPreset ? [`default ${JSON.stringify(preset)}`] : [])
  ].join('; ')
}

function isName (value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
