import t from 'tap'
import type { JsonObject } from '../../../kernel/index.ts'
import { modelSchema } from '../../../plugins/mcp/server/model-schema.ts'

const shown = (property: JsonObject): unknown =>
  (modelSchema({ type: 'object', properties: { it: property }, required: ['it'] })['properties'] as JsonObject)['it']

t.test('models are shown what the converters of their clients take', async t => {
  const any = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] }
  for (const [schema, expected] of [
    [
      { type: 'string', minLength: 1, maxLength: 9, pattern: '^a', uniqueItems: true },
      { type: 'string', pattern: '^a' }
    ],
    [{ enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    [{ const: 'a' }, { type: 'string', enum: ['a'] }],
    [{ enum: ['a', null] }, { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] }],
    [{ type: 'integer', enum: [4, 7], description: 'Which' }, { type: 'integer', description: 'Which (one of 4, 7)' }],
    [{ enum: [1, 'x'] }, { description: 'one of 1, "x"', anyOf: [{ type: 'number' }, { type: 'string' }] }],
    [{ type: 'string', enum: ['', 'a'] }, { type: 'string', description: 'one of "", "a"' }],
    [{ type: 'string', format: 'uri' }, { type: 'string', description: 'format uri' }],
    [{ type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    [{ type: ['integer', 'null'], minimum: 1 }, { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] }],
    [{ type: ['string', 'array'] }, { anyOf: [{ type: 'string' }, { type: 'array', items: any }] }],
    [{ type: 'array' }, { type: 'array', items: any }],
    [
      { oneOf: [{ type: 'string', maxLength: 3 }, { type: 'boolean' }] },
      { anyOf: [{ type: 'string' }, { type: 'boolean' }] }
    ],
    [{}, any],
    [true, any],
    [{ type: 'object', additionalProperties: { type: 'string' } }, { type: 'object' }],
    [
      { type: 'object', properties: { a: { enum: ['x'] } }, required: ['a'], additionalProperties: false },
      { type: 'object', properties: { a: { type: 'string', enum: ['x'] } }, required: ['a'] }
    ]
  ] as [JsonObject, JsonObject][]) t.same(shown(schema), expected, JSON.stringify(schema))
})

t.test('what may be left out may be null, with its default in words; what a header repeats stays plain', async t => {
  t.same(modelSchema({
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: { type: 'integer', default: 5, description: 'How many' },
      c: { type: 'string', 'x-mcp-header': 'C' },
      d: { anyOf: [{ type: 'null' }, { type: 'string' }] }
    },
    required: ['a', 'b'], additionalProperties: false, anyOf: [{ required: ['c'] }, { required: ['d'] }]
  }), {
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: { anyOf: [{ type: 'integer', description: 'How many (default 5)' }, { type: 'null' }] },
      c: { type: 'string', 'x-mcp-header': 'C' },
      d: { anyOf: [{ type: 'null' }, { type: 'string' }] }
    },
    required: ['a']
  })
})

t.test('a schema that names its dialect stays as it is', async t => {
  const own = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { const: 1 } },
    additionalProperties: false
  }
  t.equal(modelSchema(own), own)
})
