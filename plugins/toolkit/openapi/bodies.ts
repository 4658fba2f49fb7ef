import { isObject, type JsonObject } from '../../../kernel/index.ts'
import type { Inputs } from './inputs.ts'
import type { References } from './references.ts'
import type { RequestSchemas } from './schemas.ts'
import { STYLES, type TargetBody, type TargetField } from './target.ts'
import { objectAt, own, textAt } from './values.ts'

/** The most fields of a body that become parameters of their own. */
const fieldsMax = 64
/** How deep `allOf` of plain objects is looked into. */
const partsMax = 8

/** A file in a call: its bytes, or a path where the skill may read it. */
const fileSchema: JsonObject = {
  type: 'object',
  properties: {
    base64: { type: 'string', description: 'The content, in base64' },
    path: { type: 'string', description: 'Or the absolute path of a file that the skill may read' },
    name: { type: 'string', maxLength: 255, description: 'The name of the file' },
    type: { type: 'string', maxLength: 255, description: 'The media type of the file' }
  },
  additionalProperties: false,
  anyOf: [{ required: ['base64'] }, { required: ['path'] }]
}

/** Adds the body of an operation to the inputs of its tool. @throws Error when a reference leads nowhere */
export function addBody (
  operation: JsonObject, inputs: Inputs, schemas: RequestSchemas, references: References
): TargetBody | undefined {
  if (!isObject(own(operation, 'requestBody'))) return undefined
  const request = references.follow(operation['requestBody'])
  const chosen = chooseType(objectAt(request, 'content'))
  if (chosen === undefined) return undefined
  const [type, media] = chosen
  const kind = kindOf(type)
  const required = request['required'] === true
  const description = textAt(request, 'description') ?? ''
  const schema = own(media, 'schema')
  const plain = kind === 'text' || kind === 'file' ? undefined : plainObject(schema, references)
  if (plain !== undefined && Object.keys(plain.properties).length <= fieldsMax) {
    const encodings = objectAt(media, 'encoding')
    const fields = addFields(plain, encodings, { kind, required }, inputs, schemas, references)
    return { type, kind, fields, required }
  }
  const shown = kind === 'file' ? fileSchema : kind === 'text' ? { type: 'string' } : schemas.convert(schema)
  const input = inputs.add('body', 'body', { schema: shown, description, required })
  return { type, kind, input, fields: [], required }
}

/** JSON where there is a choice, then forms, then whatever there is. */
function chooseType (content: JsonObject): [string, JsonObject] | undefined {
  const rank = (type: string): number =>
    ['json', 'multipart', 'form', 'text', 'file'].indexOf(kindOf(type)) * 2 + (type === 'application/json' ? 0 : 1)
  return Object.entries(content).filter((entry): entry is [string, JsonObject] => isObject(entry[1]))
    .sort(([a], [b]) => rank(a) - rank(b))[0]
}

function kindOf (type: string): TargetBody['kind'] {
  const bare = (type.split(';', 1)[0] ?? '').trim().toLowerCase()
  if (/[/+]json$/.test(bare) || bare === '*/*' || bare === 'application/*') return 'json'
  if (bare === 'multipart/form-data') return 'multipart'
  if (bare === 'application/x-www-form-urlencoded') return 'form'
  return /^text\/|[/+]xml$|yaml|graphql|ndjson/.test(bare) ? 'text' : 'file'
}

interface Plain { properties: JsonObject, required: string[] }

/** An object with named fields only, perhaps in several parts; undefined for any other schema. */
function plainObject (schema: unknown, references: References, depth = 0): Plain | undefined {
  if (!isObject(schema) || depth > partsMax) return undefined
  const { type, allOf, anyOf, oneOf, not, additionalProperties, nullable, required, ...rest } =
    references.follow(schema)
  if (anyOf !== undefined || oneOf !== undefined || not !== undefined || nullable === true) return undefined
  if (isObject(additionalProperties) || additionalProperties === true) return undefined
  if (type !== undefined && type !== 'object') return undefined
  const plain: Plain = {
    properties: { ...objectAt(rest, 'properties') },
    required: Array.isArray(required) ? required.filter(name => typeof name === 'string') : []
  }
  for (const part of Array.isArray(allOf) ? allOf as unknown[] : []) {
    const inner = plainObject(part, references, depth + 1)
    if (inner === undefined) return undefined
    Object.assign(plain.properties, inner.properties)
    plain.required.push(...inner.required)
  }
  return depth > 0 || Object.keys(plain.properties).length > 0 ? plain : undefined
}

function addFields (
  { properties, required: needed }: Plain, encodings: JsonObject,
  { kind, required }: Pick<TargetBody, 'kind' | 'required'>,
  inputs: Inputs, schemas: RequestSchemas, references: References
): TargetField[] {
  const fields = Object.entries(properties).flatMap(([name, given]): TargetField[] => {
    const schema = isObject(given) ? references.follow(given) : {}
    if (schema['readOnly'] === true) return []
    const file = kind === 'multipart' ? fileOf(schema, references) : undefined
    const input = inputs.add(name, 'body', {
      schema: file ?? schemas.convert(given), description: textAt(schema, 'description') ?? '',
      required: required && needed.includes(name)
    })
    return [fieldOf(name, input, objectAt(encodings, name), schema, file !== undefined)]
  })
  const inputsOf = (fields: readonly TargetField[]): string[] => fields.map(({ input }) => input)
  if (!required) inputs.together(inputsOf(fields), inputsOf(fields.filter(({ name }) => needed.includes(name))))
  return fields
}

function fieldOf (
  name: string, input: string, encoding: JsonObject, schema: JsonObject, file: boolean
): TargetField {
  const style = STYLES.find(known => known === encoding['style'])
  const isJson = /[/+]json/.test(textAt(encoding, 'contentType') ?? '')
    || (style === undefined && (schema['type'] === 'object' || 'properties' in schema))
  const { explode = style === undefined || style === 'form' || style === 'deepObject' } = encoding
  return {
    input, name, style: style ?? 'form', explode: explode === true, ...(file && { file: true }),
    ...(isJson && { json: true })
  }
}

/** The schema for a field that is a file or a list of files; undefined for another. */
function fileOf (schema: JsonObject, references: References): JsonObject | undefined {
  const isFile = ({ type, format, contentEncoding, contentMediaType }: JsonObject): boolean =>
    type === 'file' || ((type === 'string' || type === undefined) && (format === 'binary' || format === 'base64'
      || (contentMediaType !== undefined && contentEncoding === undefined)))
  if (isFile(schema)) return fileSchema
  const { items } = schema
  return isObject(items) && isFile(references.follow(items)) ? { type: 'array', items: fileSchema } : undefined
}
