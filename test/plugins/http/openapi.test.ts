import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t, { type Test } from 'tap'
import { ERRORS, type JsonObject } from '../../../kernel/index.ts'
import { STATUS } from '../../../plugins/http/engine/status.ts'
import { eventsPath } from '../../../plugins/http/live/execution-events.ts'
import { openServer } from './support.ts'

interface Media { schema: JsonObject, example?: unknown, examples?: Record<string, { value: unknown }> }
interface Parameter { name: string, in: string, required: boolean, schema: JsonObject, example?: unknown }
interface Described {
  operationId: string
  tags: string[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { description: string, content: Record<string, Media> }>
}

function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null
}

/** Every object in a document, with its path. */
function * walk (value: unknown, path = ''): Generator<[path: string, value: JsonObject]> {
  if (!isObject(value)) return
  yield [path, value]
  for (const [key, inner] of Object.entries(value)) yield * walk(inner, `${path}/${key}`)
}

t.test('the description is valid OpenAPI 3.1', async t => {
  const server = await openServer({ engine: 'node' })
  t.teardown(() => server.stop())
  const document = (await server.ask('GET', '/api/openapi.json')).json
  t.match(document, { openapi: '3.1.0', info: { version: '1.2.3' }, servers: [{ url: '/' }] })
  t.match(document, {
    info: { contact: { name: 'Skillet' }, license: { identifier: 'MIT' } },
    components: { securitySchemes: { bearer: { scheme: 'bearer' }, key: { name: 'X-API-Key' } } }
  })
  t.same(document['security'], [{}, { bearer: [] }, { key: [] }], 'a key is not required, and counts all the same')
  t.notOk('api_version' in document)

  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, allowUnionTypes: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['example', 'openapi', 'info', 'servers', 'tags', 'paths', 'components', 'security'])
  ajv.addSchema(document, 'doc')
  const compile = (schema: JsonObject): ReturnType<typeof ajv.compile> =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components')) as JsonObject)

  for (const [path, value] of walk(document)) {
    const reference = value['$ref']
    if (reference === undefined) continue
    const target = String(reference)
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((at, key) => isObject(at) ? at[key] : undefined, document)
    t.ok(isObject(target), `${path} refers to something: ${String(reference)}`)
  }
  t.same(
    [...walk(document)].filter(([path, value]) => typeof value['title'] === 'string' && path !== '/info')
      .map(([path]) => path),
    [],
    'components have names instead of titles'
  )
  const { schemas } = document['components'] as { schemas: Record<string, JsonObject> }
  for (const name of [
    'Skill', 'Tool', 'Parameter', 'ExecutionSummary', 'ExecutionError', 'SearchResult', 'Error', 'ErrorBody'
  ]) {
    t.ok(name in schemas, name)
  }
  hasGoodNames(t, document, schemas)
  for (const schema of Object.values(schemas)) compile(schema)

  const fits = (media: Media | undefined, what: string): void => {
    if (media === undefined) return void t.fail(`${what} has no media type`)
    const validate = compile(media.schema)
    if ('example' in media) t.ok(validate(media.example), `${what}: ${ajv.errorsText(validate.errors)}`)
  }
  const ids = new Set<string>()
  const declared = new Set((document['tags'] as { name: string }[]).map(({ name }) => name))
  const table = server.kernel.gateway.operations
  const { [eventsPath]: events, ...paths } = document['paths'] as Record<string, Record<string, Described>>
  t.match(events?.['get'], {
    operationId: 'follow_execution', parameters: [{ name: 'id' }, { name: 'after' }, { name: 'Last-Event-ID' }],
    responses: { 200: { content: { 'text/event-stream': {} } }, 204: {}, 404: {} }
  }, 'the stream of events, which is no operation')
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, { operationId, tags, parameters = [], requestBody, responses }] of Object.entries(item)) {
      t.notOk(ids.has(operationId), `${operationId} is unique`)
      ids.add(operationId)
      const operation = table.find(({ name }) => name === operationId)
      t.equal(operation?.route, `${method.toUpperCase()} ${path}`)
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      t.same(parameters.filter(one => one.in === 'path').map(({ name }) => name), placeholders)
      for (const one of parameters) {
        t.equal(one.required, one.in === 'path', `${operationId} ${one.name}: nothing in a query is required`)
        fits(one, `${operationId} ${one.name}`)
      }
      const inUrl = parameters.filter(one => one.in !== 'header') // headers stand for fields that the body has as well
      const fields = [...inUrl.map(({ name }) => name), ...Object.keys(bodyFields(requestBody, schemas))]
      t.same(
        fields.toSorted(),
        Object.keys(operation?.input.properties ?? {}).toSorted(),
        'every field of the input has its place'
      )
      if (requestBody !== undefined) fits(requestBody.content['application/json'], `${operationId} request`)
      t.ok(tags.length === 1 && declared.has(String(tags[0])), `${operationId} belongs to a declared part`)
      for (const [status, { description, content }] of Object.entries(responses)) {
        t.ok(description)
        const media = content['application/json']
        fits(media, `${operationId} ${status}`)
        for (const [code, { value }] of Object.entries(media?.examples ?? {})) {
          fits({ schema: media?.schema ?? {}, example: value }, `${operationId} ${status} ${code}`)
        }
      }
      t.ok(content200(responses)?.example, `${operationId} has an example`)
      for (const code of operation?.errors ?? []) {
        t.match(JSON.stringify(responses[STATUS[ERRORS[code].kind]]), `"${code}"`)
      }
    }
  }
  t.equal(ids.size, table.length)
})

/** Generators name what has no name by where it stands: a few texts, and objects with fields, are components. */
function hasGoodNames (t: Test, document: JsonObject, schemas: Record<string, JsonObject>): void {
  for (const [path, schema] of walk(document)) {
    if (path.includes('/example')) continue
    const isComponent = /^\/components\/schemas\/\w+$/.test(path)
    const isNamed = 'enum' in schema || (schema['type'] === 'object' && isObject(schema['properties']))
    if (isNamed) t.ok(isComponent, `${path} has a name`)
    if ('enum' in schema) t.equal(schema['type'], 'string', `${path} says its type`)
  }
  t.match(schemas['Execution'] ?? schemas['GetExecutionResponse'], {
    properties: { isolation: { anyOf: [{ $ref: '#/components/schemas/Isolation' }, { type: 'null' }] } }
  })
  t.match(schemas['Error'], { properties: { error: { $ref: '#/components/schemas/ErrorBody' } } })
  t.match(schemas['ErrorBody'], { properties: { code: { $ref: '#/components/schemas/ErrorCode' } } })
}

function bodyFields (body: Described['requestBody'], schemas: Record<string, JsonObject>): JsonObject {
  const name = String(body?.content['application/json']?.schema['$ref'] ?? '').split('/').pop() ?? ''
  const properties = schemas[name]?.['properties']
  return isObject(properties) ? properties : {}
}

function content200 (responses: Described['responses']): Media | undefined {
  return responses['200']?.content['application/json']
}
