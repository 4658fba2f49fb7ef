import t from 'tap'
import { compileInputSchema, patternSubjectMax, uniqueItemsMax } from '../../../kernel/schema/parameters.ts'
import { compileCheck } from '../../../kernel/schema/validation.ts'

t.test('a tool\'s parameters become one schema, which refuses all others', async t => {
  t.same(compileInputSchema([]), { type: 'object', properties: {}, additionalProperties: false })
  t.same(compileInputSchema([
    { name: 'a', type: 'string', description: 'A', required: true, secret: true, allow_dash: true, minLength: 1 },
    { name: 'b', type: 'array', description: 'B', required: false, items: { type: 'integer' }, default: [1] }
  ]), {
    type: 'object',
    properties: {
      a: { type: 'string', description: 'A', minLength: 1 },
      b: { type: 'array', description: 'B', items: { type: 'integer' }, default: [1] }
    },
    required: ['a'],
    additionalProperties: false
  })
})

t.test('what could take long to check is bounded, at any depth, and only there', async t => {
  const data = { pattern: 'x', uniqueItems: true }
  const { properties } = compileInputSchema([
    { name: 'a', type: 'string', description: 'A', required: false, pattern: '^a' },
    { name: 'b', type: 'string', description: 'B', required: false, format: 'email', maxLength: 99 },
    {
      name: 'c',
      type: 'array',
      description: 'C',
      required: false,
      uniqueItems: true,
      items: { anyOf: [{ type: 'string', pattern: 'b' }, { type: 'array', uniqueItems: true, maxItems: 3 }] }
    },
    { name: 'd', type: 'object', description: 'D', required: false, default: data, enum: [data], examples: [data] }
  ]) as { properties: Record<string, unknown> }
  t.match(properties['a'], { maxLength: patternSubjectMax })
  t.match(properties['b'], { maxLength: 99 })
  t.match(properties['c'], {
    maxItems: uniqueItemsMax,
    items: { anyOf: [{ maxLength: patternSubjectMax }, { maxItems: 3 }] }
  })
  t.same(
    properties['d'],
    { type: 'object', description: 'D', default: data, enum: [data], examples: [data] },
    'data is no schema'
  )
})

t.test('rules for the parameters together stand beside them, bounded as they are', async t => {
  const rules = {
    $defs: { word: { type: 'string', pattern: '^[a-z]+$' } },
    dependentRequired: { a: ['b'] },
    anyOf: [{ required: ['a'] }, { required: ['b'] }]
  }
  const schema = compileInputSchema(
    ['a', 'b'].map(name => ({ name, type: 'string', description: name, required: false, $ref: '#/$defs/word' })),
    rules
  )
  t.match(schema, {
    type: 'object',
    additionalProperties: false,
    $defs: { word: { maxLength: patternSubjectMax } },
    dependentRequired: { a: ['b'] }
  })
  const check = compileCheck(schema, 'parameters')
  t.equal(check({ b: 'x' }), undefined)
  t.match(check({ a: 'x' }), /must have the field "b"|must have property b/)
  t.equal(check({}), 'parameters must have the field "a" or "b"')
  t.match(check({ b: 'X' }), /parameters\/b must match pattern/)
})
