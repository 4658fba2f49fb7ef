import { isDeepStrictEqual } from 'node:util'
import {
  ERRORS, isObject, SkilletError, type ErrorCode, type JsonObject, type Operation, type Version
} from '../../../kernel/index.ts'
import { eventsErrors, eventsOperation } from '../live/events-openapi.ts'
import { eventsPath } from '../live/execution-events.ts'
import { placementOf, type Placement } from './input.ts'
import { acceptedResponse, runHeaders } from './preferences.ts'
import { versionFields } from './serialize.ts'
import { STATUS } from '../engine/status.ts'

export interface OpenApiOptions {
  operations: readonly Operation[]
  version: Version
  auth_required: boolean
}

/** Error codes that any request can get, whichever operation it calls. */
const anyRequest: readonly ErrorCode[] = [
  'INVALID_PARAMETERS', 'UNAUTHORIZED', 'FORBIDDEN', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'OVERLOADED', 'INTERNAL'
]

/** The parts of the API, by the beginning of their paths. A path that begins with none of these is in the last part. */
const tags = [
  { name: 'Skills', description: 'What is installed: skills, their tools and files', paths: ['/api/skills'] },
  { name: 'Executions', description: 'Running tools, and the history of what was run', paths: ['/api/execut'] },
  { name: 'Search', description: 'Finding tools by what they do', paths: ['/api/search'] },
  { name: 'Server', description: 'The server itself', paths: ['/api/'] }
] as const

/** The OpenAPI 3.1 description, derived from the table of operations. */
export function openApi ({ operations, version, auth_required }: OpenApiOptions): JsonObject {
  const components = new Components()
  addErrors(components, version)
  const paths: Record<string, JsonObject> = {}
  for (const operation of operations) {
    const placement = placementOf(operation)
    const item = paths[placement.path] ??= {}
    item[placement.method.toLowerCase()] = describe(operation, placement, version, components)
  }
  const errors = errorResponses({ errors: eventsErrors }, { method: 'GET' }, version)
  paths[eventsPath] = { get: eventsOperation(errors) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Skillet',
      version: version.version,
      summary: 'Lists, searches and runs skills',
      description: 'A local server that lists, searches and runs skills for programs, people and AI agents.',
      contact: { name: 'Skillet' },
      license: { name: 'MIT', identifier: 'MIT' }
    },
    servers: [{ url: '/', description: 'The server that this description comes from' }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The API key' },
        key: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key' }
      }
    },
    // Where no key is required, a valid key still gives the request its rights and limits.
    security: [...(auth_required ? [] : [{}]), { bearer: [] }, { key: [] }]
  }
}

function describe (operation: Operation, placement: Placement, version: Version, components: Components): JsonObject {
  const { name, summary, description, example } = operation
  const parameters = parametersOf(operation, placement, components)
  return {
    operationId: name,
    tags: [tags.find(({ paths }) => paths.some(path => placement.path.startsWith(path)))?.name ?? 'Server'],
    summary,
    description,
    ...(parameters.length > 0 && { parameters }),
    ...(placement.body_fields.length > 0 && { requestBody: requestBodyOf(operation, placement, components) }),
    responses: {
      200: {
        description: 'Success',
        content: {
          'application/json': {
            schema: components.add(responseName(name), responseSchema(operation, version, components)),
            example: { ...example.output, ...versionFields(version) }
          }
        }
      },
      ...(operation.unfinished !== undefined && {
        202: acceptedResponse(responseName(name), { ...example.output, ...versionFields(version) })
      }),
      ...errorResponses(operation, placement, version)
    }
  }
}

function parametersOf (
  { input, example, unfinished }: Operation,
  { path_fields, query_fields }: Placement,
  components: Components
): JsonObject[] {
  const parameter = (where: 'path' | 'query') => ([name, field]: readonly [string, unknown]): JsonObject => {
    const schema = components.lift(field)
    const { description, ...rest } = schema
    return {
      name,
      in: where,
      required: where === 'path' || (requiredOf(input).includes(name) && !('default' in schema)),
      ...(typeof description === 'string' && { description }),
      schema: rest,
      ...(Object.hasOwn(example.input, name) && { example: example.input[name] })
    }
  }
  const headers = unfinished === undefined ? [] : runHeaders.map(({ name, description, example }) =>
    ({ name, in: 'header', required: false, description, schema: { type: 'string' }, example }))
  return [...path_fields.map(parameter('path')), ...[...query_fields].map(parameter('query')), ...headers]
}

function requestBodyOf (
  { name, input, example }: Operation,
  { body_fields }: Placement,
  components: Components
): JsonObject {
  const properties = Object.fromEntries(body_fields.map(field => [field, components.lift(input.properties[field])]))
  // A field with a default value is filled in: the caller may leave it out, even where the kernel's type requires it.
  const required = requiredOf(input)
    .filter(field => body_fields.includes(field) && !('default' in (properties[field] ?? {})))
  const schema = { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
  const exampleBody = Object.fromEntries(Object.entries(example.input).filter(([field]) => body_fields.includes(field)))
  return {
    required: true,
    content: { 'application/json': { schema: components.add(`${pascal(name)}Request`, schema), example: exampleBody } }
  }
}

function responseSchema ({ output }: Operation, version: Version, components: Components): JsonObject {
  const { properties = {}, required = [], ...rest } = components.lift(output)
  return {
    ...rest,
    properties: { ...(isObject(properties) && properties), ...versionSchemas(version) },
    required: [...(Array.isArray(required) ? required : []), ...Object.keys(versionFields(version))]
  }
}

/** The error responses by status: error codes with the same status share a response, which has an example of each. */
function errorResponses (
  { errors }: Pick<Operation, 'errors'>, { method }: Pick<Placement, 'method'>, version: Version
): JsonObject {
  const codes = new Set<ErrorCode>([
    ...anyRequest, ...(method === 'POST' ? ['UNSUPPORTED_MEDIA_TYPE'] as const : []), ...errors
  ])
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes) {
    const status = STATUS[ERRORS[code].kind]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, {
    description: codes.map(code => `${code}: ${ERRORS[code].meaning}`).join('. '),
    ...((status === 429 || status === 503)
      && { headers: { 'Retry-After': { description: 'When to try again, in seconds', schema: { type: 'integer' } } } }),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map(code => [
          code,
          { value: { ...new SkilletError(code, ERRORS[code].meaning).envelope(), ...versionFields(version) } }
        ]))
      }
    }
  }]))
}

/** Every part of an error gets a name: code generators would otherwise make up worse names. */
function addErrors (components: Components, version: Version): void {
  const code =
    components.add('ErrorCode', { type: 'string', enum: Object.keys(ERRORS), description: 'What went wrong' })
  const error = components.add('ErrorBody', {
    type: 'object',
    description: 'What went wrong, for programs and in words',
    properties: {
      code,
      message: { type: 'string', description: 'What went wrong, and where, in words' },
      details: {
        type: 'object',
        additionalProperties: true,
        description: 'Context, such as skill, tool, exit_code and execution_id'
      }
    },
    required: ['code', 'message', 'details']
  })
  components.add('Error', {
    type: 'object',
    description: 'Every error',
    properties: { error, success: { type: 'boolean', const: false }, ...versionSchemas(version) },
    required: ['error', 'success', ...Object.keys(versionFields(version))]
  })
}

function versionSchemas (version: Version): JsonObject {
  const description = { api_version: 'Version of the API', service_version: 'Version of the service' }
  return Object.fromEntries(Object.keys(versionFields(version))
    .map(name => [name, { type: 'string', description: description[name as keyof typeof description] }]))
}

/** Schemas that have a name: each is in the document once, and other schemas refer to it. */
export class Components {
  readonly schemas: JsonObject = {}

  /**
   * Adds a schema under a name.
   * @returns the reference to it
   * @throws Error when another schema has the name
   */
  add (name: string, schema: JsonObject): JsonObject {
    if (!isDeepStrictEqual(this.schemas[name] ??= schema, schema)) throw new Error(`two schemas are called ${name}`)
    return { $ref: `#/components/schemas/${name}` }
  }

  /** A copy in which every schema with a title is replaced by a reference to the component with that name. */
  lift (schema: unknown): JsonObject {
    const copy = this.#copy(schema)
    if (!isObject(copy)) throw new Error('a schema is an object')
    return copy
  }

  #copy (schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(item => this.#copy(item))
    if (!isObject(schema)) return schema
    const copy: JsonObject = {}
    const { title } = schema
    const isNamed = typeof title === 'string' // not a field with the name `title`
    for (const [key, value] of Object.entries(schema)) if (key !== 'title' || !isNamed) copy[key] = this.#copy(value)
    return isNamed ? this.add(title, copy) : copy
  }
}

function requiredOf ({ required }: Operation['input']): readonly string[] {
  return required ?? []
}

function responseName (name: string): string {
  return `${pascal(name)}Response`
}

function pascal (name: string): string {
  return name.split('_').map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
