import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { compileCheck, isObject, TOOL_NAME, type JsonObject } from '../../../kernel/index.ts'
import { takeInFiles } from '../../../plugins/toolkit/openapi/external-files.ts'
import { documentBytesMax, operationsMax } from '../../../plugins/toolkit/openapi/limits.ts'
import { openDocument } from '../../../plugins/toolkit/openapi/open-document.ts'
import { matches, operationsIn, type Operation } from '../../../plugins/toolkit/openapi/operations.ts'
import { parseFile } from '../../../plugins/toolkit/openapi/parse-document.ts'
import { httpOf, readApi } from '../../../plugins/toolkit/openapi/read-api.ts'
import { reduceDocument } from '../../../plugins/toolkit/openapi/reduce.ts'
import { References } from '../../../plugins/toolkit/openapi/references.ts'
import { chooseAuth } from '../../../plugins/toolkit/openapi/security.ts'
import { serversOf } from '../../../plugins/toolkit/openapi/servers.ts'
import { nameOperations } from '../../../plugins/toolkit/openapi/tool-names.ts'
import { bodyOf, documentOf, parameter, toolsIn } from '../../support/web-api.ts'

const bytes = (text: string): Buffer => Buffer.from(text)
const check = (schema: JsonObject, value: unknown): string | undefined => compileCheck(schema, 'parameters')(value)

t.test('JSON and YAML are read; what is damaged is refused by name', async t => {
  t.same(await parseFile(bytes('{"openapi":"3.0.0"}'), 'a'), { openapi: '3.0.0' })
  t.same(await parseFile(bytes('openapi: 3.1.0\npaths: {}\n'), 'a'), { openapi: '3.1.0', paths: {} })
  t.same(await parseFile(bytes('{openapi: 3.1.0}'), 'a'), { openapi: '3.1.0' })
  // Each list holds the one before nine times.
  const lists = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)
  const nested = ['a0: &a0 [x, x]', ...lists].join('\n')
  for (const [text, message] of [
    ['{"a":', /api\.json is neither valid JSON nor valid YAML/],
    ['[1]', /api\.json holds no object/],
    ['{"a":{"__proto__":{}}}', /"__proto__"/],
    [`${'{"a":'.repeat(400)}1${'}'.repeat(400)}`, /nested deeper than 256/],
    [nested, /alias/i]
  ] as const)
    await t.rejects(parseFile(bytes(text), 'api.json'), { message })
  await t.rejects(parseFile(Buffer.from([0xff, 0xfe]), 'api.json'), { message: /not valid UTF-8/ })
  await t.rejects(parseFile(Buffer.alloc(documentBytesMax + 1, ' '), 'api.json'), {
    message: /api\.json has 52428801 bytes; the most is 52428800/
  })
  await t.rejects(openDocument({ openapi: '4.0.0', paths: {} }, 'x'), {
    message: /x is of OpenAPI 4\.0\.0; the versions/
  })
  await t.rejects(openDocument({ paths: {} }, 'x'), { message: /x is no OpenAPI document/ })
  await t.rejects(openDocument({ openapi: '3.0.0' }, 'x'), { message: /x has no "paths"/ })
})

t.test('a document of 50 MB is read, and costs no more than what is used of it', async t => {
  const filler = 'x'.repeat(1000)
  const schemas = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, i) => [`S${i}`, { type: 'string', description: filler }])
  )
  const text = JSON.stringify(
    documentOf(
      {
        '/a': { get: { operationId: 'a', parameters: [parameter('p', 'query', { $ref: '#/components/schemas/S7' })] } }
      },
      { components: { schemas } }
    )
  )
  t.ok(text.length > 50_000_000 && text.length < documentBytesMax)
  const document = await openDocument(await parseFile(bytes(text), 'big'), 'big')
  const operations = operationsIn(document, new References(document))
  const reduced = reduceDocument(document, operations, nameOperations(operations))
  t.ok(JSON.stringify(reduced).length < 10_000)
  t.same(Object.keys((toolsIn(reduced)['a']?.input_schema['$defs'] ?? {}) as object), ['S7'])
})

t.test('version 2.0 is upgraded', async t => {
  const document = await openDocument(
    {
      swagger: '2.0',
      info: { title: 'T', version: '1' },
      host: 'api.example',
      basePath: '/v1',
      schemes: ['https'],
      paths: {
        '/pets': {
          post: {
            operationId: 'add',
            consumes: ['application/json'],
            parameters: [
              { name: 'pet', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } },
              { name: 'n', in: 'query', type: 'integer' }
            ],
            responses: { 200: { description: '' } }
          }
        }
      },
      definitions: { Pet: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } }
    },
    'x'
  )
  t.same(serversOf(document, undefined), ['https://api.example/v1'])
  const { add } = toolsIn(document)
  t.equal(check(add?.input_schema ?? {}, { name: 'x', n: 1 }), undefined)
  t.match(check(add?.input_schema ?? {}, { n: 1 }), /must have the field "name"/)
})

t.test('names are valid, differ, and stay', async t => {
  const id = fc.oneof(
    fc.constantFrom('get pet', 'get/pet', 'get_pet', '', 'é', 'constructor', 'a'.repeat(70), `${'a'.repeat(70)}b`),
    fc.string()
  )
  const operations = fc
    .uniqueArray(
      fc.record({
        id: fc.option(id, { nil: undefined }),
        path: fc.constantFrom('/', '/a', '/a/{b}', '/a/b', '/a-b', '/é', `/${'x'.repeat(90)}`),
        method: fc.constantFrom('get' as const, 'post' as const)
      }),
      { selector: ({ path, method }) => `${method} ${path}`, maxLength: 12 }
    )
    .map(list =>
      list.map((one): Operation => ({
        ...one,
        key: `${one.method.toUpperCase()} ${one.path}`,
        tags: [],
        item: {},
        value: {}
      }))
    )
  fc.assert(
    fc.property(operations, operations, (before, after) => {
      const names = nameOperations(before)
      const later = nameOperations(after, names)
      for (const set of [names, later]) {
        t.equal(new Set(set.values()).size, set.size)
        for (const name of set.values()) t.ok(TOOL_NAME.test(name) && name !== 'constructor', name)
      }
      t.equal(later.size, after.length)
      for (const { key } of after) if (names.has(key)) t.equal(later.get(key), names.get(key))
      t.same([...nameOperations(before.toReversed())].sort(), [...names].sort(), 'whatever their order is')
    }),
    { numRuns: 200 }
  )
  const hash = createHash('sha256').update('GET /b').digest('hex').slice(0, 8)
  const two = documentOf({
    '/a': { get: { operationId: 'same' } },
    '/b': { get: { operationId: 'same' } },
    '/c': { get: {} }
  })
  t.ok(`same_${hash}` in toolsIn(two))
  t.ok('get_c' in toolsIn(two))
})

t.test('schemas that refer to themselves stay as they are, once', async t => {
  const Node = {
    type: 'object',
    properties: {
      value: { type: 'integer' },
      next: { $ref: '#/components/schemas/Node' },
      all: { type: 'array', items: { $ref: '#/components/schemas/Node' } }
    },
    required: ['value']
  }
  const tool = toolsIn(
    documentOf(
      { '/n': { post: { operationId: 'n', ...bodyOf('application/json', { $ref: '#/components/schemas/Node' }) } } },
      { components: { schemas: { Node } } }
    )
  )['n']
  t.same(Object.keys(tool?.input_schema['$defs'] as object), ['Node'])
  t.equal(check(tool?.input_schema ?? {}, { value: 1, next: { value: 2, next: { value: 3 } } }), undefined)
  t.match(
    check(tool?.input_schema ?? {}, { value: 1, next: { value: 2, next: {} } }),
    /next\/next must have the field "value"/
  )
  const round = { $ref: '#/components/schemas/A' }
  const { left_out } = readApi(
    JSON.stringify(
      documentOf(
        {
          '/a': { get: { parameters: [{ $ref: '#/components/parameters/A' }] } },
          '/b': { get: { parameters: [{ $ref: '#/nowhere' }] } },
          '/c': { get: {} }
        },
        { components: { parameters: { A: { $ref: '#/components/parameters/A' } }, schemas: { A: round } } }
      )
    ),
    httpOf({ server: 'https://x.example' })
  )
  t.match(
    left_out.map(({ error }) => error),
    [/^GET \/a: its references lead in a circle/, /^GET \/b: the reference "#\/nowhere" leads nowhere/]
  )
})

t.test('any schema becomes one that can be compiled', async () => {
  const schemaOf = (depth: number): fc.Arbitrary<object> => {
    const inner = depth === 0 ? fc.constant({}) : schemaOf(depth - 1)
    return fc.record(
      {
        type: fc.constantFrom('string', 'integer', 'object', 'array', 'file', ['string', 'null'], 'nonsense', 7),
        nullable: fc.boolean(),
        format: fc.constantFrom('date', 'binary', 'odd', 1),
        pattern: fc.constantFrom('^a', '(?=a)b', '[', '\\d+'),
        minimum: fc.constantFrom(1, 'x', Infinity),
        exclusiveMinimum: fc.constantFrom(true, false, 3),
        minLength: fc.constantFrom(-1, 2, 1.5),
        enum: fc.constantFrom([], ['a'], [null]),
        default: fc.jsonValue({ maxDepth: 1 }),
        'x-own': fc.constant(1),
        required: fc.constantFrom(true, ['a', 'a'], []),
        discriminator: fc.constant({ propertyName: 'a' }),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), inner, { maxKeys: 2 }),
        items: inner,
        oneOf: fc.array(inner, { maxLength: 2 }),
        allOf: fc.array(inner, { maxLength: 2 }),
        not: inner,
        additionalProperties: fc.oneof(fc.boolean(), inner),
        $ref: fc.constant('#/components/schemas/S')
      },
      { requiredKeys: [] }
    )
  }
  const schema = schemaOf(2)
  fc.assert(
    fc.property(schema, schema, (first, second) => {
      const tools = toolsIn(
        documentOf(
          {
            '/p': {
              post: {
                operationId: 'p',
                parameters: [parameter('q', 'query', first as JsonObject)],
                ...bodyOf('application/json', second as JsonObject)
              }
            }
          },
          { components: { schemas: { S: { type: 'string' } } } }
        )
      )
      compileCheck(tools['p']?.input_schema ?? {}, 'parameters')
    }),
    { numRuns: 60 }
  )
})

t.test(
  'parameters and fields of one name have names of their own, and only what can be sent is asked for',
  async t => {
    const { x } = toolsIn(
      documentOf({
        '/{id}': {
          post: {
            operationId: 'x',
            parameters: [
              parameter('id', 'path'),
              parameter('id', 'query'),
              parameter('filter[a]', 'query'),
              parameter('Authorization', 'header')
            ],
            ...bodyOf('application/json', {
              type: 'object',
              properties: { id: { type: 'string' }, at: { type: 'string', readOnly: true } },
              required: ['id', 'at']
            })
          }
        }
      })
    )
    t.same(Object.keys(x?.input_schema['properties'] as object), ['id', 'id_query', 'filter_a', 'id_body'])
    t.same(x?.input_schema['required'], ['id', 'id_body'])
  }
)

t.test('a server that is elsewhere, of another scheme, or not named is never sent anything', async t => {
  const own = { operationId: 'o', servers: [{ url: 'https://other.example' }] }
  const { left_out, tools } = readApi(
    JSON.stringify(documentOf({ '/a': { get: own }, '/b': { get: { servers: [{ url: '/v2' }] } } })),
    httpOf({ server: 'https://x.example/v1' })
  )
  t.match(left_out, [{ tool: 'o', error: /another server \(https:\/\/other\.example\)/ }])
  t.match(tools, [{ target: { server: 'https://x.example/v2' } }])
  t.same(
    serversOf(
      { servers: [{ url: 'ftp://x' }, { url: 'ws://x' }, { url: 'https://u:p@x' }, { url: 'https://{tenant}.x' }] },
      undefined
    ),
    []
  )
  t.same(
    serversOf(
      { servers: [{ url: 'https://{t}.x.example/{v}/', variables: { t: { default: 'eu' }, v: { default: 'v1' } } }] },
      undefined
    ),
    ['https://eu.x.example/v1']
  )
  t.same(serversOf({}, 'https://x.example/docs/api.json'), ['https://x.example'])
  t.same(serversOf({ servers: [{ url: '../v1' }] }, 'https://x.example/docs/a/api.json'), [
    'https://x.example/docs/v1'
  ])
  t.throws(() => httpOf({ server: 'file:///etc' }), { message: /no address with http/ })
  t.throws(() => httpOf({ server: 'https://x', extra: 1 }), { message: /unknown field "extra"/ })
})

t.test('files that a document refers to become a part of it; what is not read is said', async t => {
  const document = documentOf({
    '/a': { get: { operationId: 'a', parameters: [{ $ref: 'p.yaml#/P' }, { $ref: 'http://169.254.169.254/x#/P' }] } },
    '/b': { get: { operationId: 'b', parameters: [{ $ref: './p.yaml#/P' }] } }
  })
  const asked: string[] = []
  const faults = await takeInFiles(document, 'https://x.example/api/openapi.json', async url => {
    asked.push(url.href)
    if (url.hostname !== 'x.example') throw new Error('not reached')
    return bytes(
      url.pathname.endsWith('p.yaml')
        ? 'P: {name: q, in: query, schema: {$ref: "deep/s.yaml#/S"}}'
        : 'S: {type: object, properties: {s: {$ref: "#/S"}}}'
    )
  })
  t.same(asked.sort(), [
    'http://169.254.169.254/x',
    'https://x.example/api/deep/s.yaml',
    'https://x.example/api/p.yaml'
  ])
  t.match(faults, [/^http:\/\/169\.254\.169\.254\/x: not reached/])
  const operations = operationsIn(document, new References(document))
  const { tools, left_out } = readApi(
    JSON.stringify(reduceDocument(document, operations, nameOperations(operations))),
    httpOf({ server: 'https://x.example' })
  )
  t.match(left_out, [{ tool: 'a', error: /can't be followed/ }])
  t.equal(check(tools[0]?.input_schema ?? {}, { q: { s: { s: {} } } }), undefined)
  t.match(check(tools[0]?.input_schema ?? {}, { q: { s: 1 } }), /must be object/)
})

t.test('filters, credentials, and the number of operations', async t => {
  const document = documentOf(
    {
      '/pets/{id}': { get: { operationId: 'getPet', tags: ['pets'] } },
      '/users': { get: { operationId: 'listUsers' }, post: { security: [] } }
    },
    {
      security: [{ two: [], key: [] }, { odd: [] }, { key: [] }],
      components: {
        securitySchemes: {
          key: { type: 'apiKey', in: 'header', name: 'X-Key' },
          two: { type: 'http', scheme: 'digest' },
          odd: { type: 'mutualTLS' }
        }
      }
    }
  )
  const operations = operationsIn(document, new References(document))
  const chosen = (filter: string): string[] =>
    operations.filter(operation => matches(operation, filter)).map(({ key }) => key)
  t.same(chosen('tag:pets'), ['GET /pets/{id}'])
  t.same(chosen('path:/users*'), ['GET /users', 'POST /users'])
  t.same(chosen('operation:*Pet'), ['GET /pets/{id}'])
  t.same(chosen('POST /users'), ['POST /users'])
  t.same(chosen('path:pets'), [])
  const auth = chooseAuth(
    document,
    operations.map(({ value }) => value),
    new References(document),
    'my-api'
  )
  t.same(auth, [{ scheme: 'key', kind: 'header', name: 'X-Key', secrets: ['MY_API_KEY'] }])
  const tools = toolsIn(document, { auth })
  t.match(
    Object.values(tools).map(({ target }) => isObject(target) && (target['auth'] as unknown[]).length),
    [1, 1, 0]
  )
  const many = documentOf(
    Object.fromEntries(Array.from({ length: operationsMax + 1 }, (_, i) => [`/${i}`, { get: {} }]))
  )
  t.throws(() => toolsIn(many), { message: /has 4001 operations; the most is 4000; import a part by --filter/ })
})
