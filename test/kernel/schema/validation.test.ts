import t from 'tap'
import { compileInputSchema, patternSubjectMax } from '../../../kernel/schema/parameters.ts'
import { compileCheck, type Check } from '../../../kernel/schema/validation.ts'
import type { JsonObject, ParameterDescriptor } from '../../../kernel/contracts/schemas.ts'

const parameter = (name: string, type: ParameterDescriptor['type'], more: JsonObject = {}): ParameterDescriptor =>
  ({ name, type, description: 'x', required: false, ...more })
const checkOf = (...parameters: ParameterDescriptor[]): Check =>
  compileCheck(compileInputSchema(parameters), 'parameters')

t.test('a message says what is wrong and where', async t => {
  const check = checkOf(
    parameter('count', 'integer', { minimum: 1, maximum: 9 }), parameter('name', 'string', { required: true }),
    parameter('kind', 'string', { enum: ['a', 'b'] }),
    parameter('list', 'array', {
      items: { type: 'object', properties: { deep: { type: 'boolean' } }, additionalProperties: false }
    })
  )
  t.equal(check({ name: 'x', count: 3, kind: 'b', list: [{ deep: true }] }), undefined)
  t.equal(check({ name: 'x', count: '3' }), 'parameters/count must be integer', 'nothing is coerced')
  t.equal(check({ name: 'x', count: 0 }), 'parameters/count must be >= 1')
  t.equal(check({}), 'parameters must have the field "name"')
  t.equal(check({ name: 'x', kind: 'c' }), 'parameters/kind must be one of "a", "b"')
  t.equal(check({ name: 'x', cuont: 1 }), 'parameters has an unknown field "cuont"; did you mean "count"?')
  t.equal(
    check({ nmae: 'x' }),
    'parameters has an unknown field "nmae"; did you mean "name"?',
    'what is missing is there, by another name'
  )
  t.equal(check({ name: 'x', list: [{}, { deep: 1 }] }), 'parameters/list/1/deep must be boolean')
  t.equal(check({ name: 'x', ['y'.repeat(1000)]: 1 }), `parameters has an unknown field "${'y'.repeat(64)}…"`)
  t.equal(check([]), 'parameters must be object')
  t.equal(check(null), 'parameters must be object')
})

t.test('what an object inherits is not there', async t => {
  const check = checkOf(parameter('toString', 'string', { required: true }))
  t.equal(check({}), 'parameters must have the field "toString"')
  t.equal(check({ toString: 'x' }), undefined)
  t.equal(
    checkOf(parameter('a', 'string'))(JSON.parse('{"__proto__": {"a": 3}}')),
    'parameters has an unknown field "__proto__"'
  )
  t.equal(checkOf(parameter('a', 'string'))({ constructor: 1 }), 'parameters has an unknown field "constructor"')
})

t.test('defaults are filled in, a new one for each call', async t => {
  const check = checkOf(parameter('list', 'array', { default: [] }), parameter('n', 'integer', { default: 2 }))
  const [one, two]: { list?: unknown[], n?: number }[] = [{}, { n: 5 }]
  t.equal(check(one), undefined)
  t.equal(check(two), undefined)
  one?.list?.push(1)
  t.same([one, two], [{ list: [1], n: 2 }, { list: [], n: 5 }])
})

t.test('each pattern is its own, and matches in linear time', async t => {
  const check = checkOf(parameter('a', 'string', { pattern: '^a+$' }), parameter('b', 'string', { pattern: '^b+$' }))
  t.equal(check({ a: 'a', b: 'b' }), undefined)
  t.equal(check({ a: 'a', b: 'a' }), 'parameters/b must match pattern "^b+$"')
  t.equal(check({ a: 'b' }), 'parameters/a must match pattern "^a+$"')
  const catastrophic = checkOf(parameter('a', 'string', { pattern: '^(a+)+$' }))
  t.equal(catastrophic({ a: 'a'.repeat(50_000) + '!' }), 'parameters/a must match pattern "^(a+)+$"')
  t.match(
    catastrophic({ a: 'a'.repeat(patternSubjectMax + 1) }),
    /parameters\/a must NOT have more than 65536 characters/
  )
  for (const bomb of ['a{1000}{1000}', '((a{30}){30}){30}', 'a|'.repeat(30_000), '('.repeat(1500) + ')'.repeat(548)]) {
    t.throws(() => checkOf(parameter('a', 'string', { pattern: bomb })), bomb.slice(0, 20))
  }
  t.throws(() => checkOf(parameter('a', 'string', { pattern: '(?<=a)b' })), { message: /invalid named capture/ })
  t.throws(() => checkOf(parameter('a', 'string', { pattern: '(a)\\1' })), { message: /invalid escape/ })
})

t.test('a schema that says nothing sensible is refused, again and again', async t => {
  for (const _ of [1, 2]) {
    t.throws(
      () => checkOf(parameter('a', 'string', { minimun: 1 })),
      { message: 'strict mode: unknown keyword: "minimun"' }
    )
    t.throws(() => checkOf(parameter('a', 'string', { format: 'nope' })), { message: /unknown format "nope"/ })
    t.throws(() => checkOf(parameter('a', 'string', { maxLength: 'x' })), { message: /maxLength must be/ })
    t.equal(
      compileCheck({ $id: 'same', type: 'string' }, 'x')('y'),
      undefined,
      'an identifier may come twice: a skill is loaded again'
    )
  }
  t.equal(
    checkOf(parameter('when', 'string', { format: 'date' }))({ when: 'yesterday' }),
    'parameters/when must match format "date"'
  )
})

t.test('an integer that a double can not hold is refused, wherever it stands', async t => {
  const check = checkOf(
    parameter('n', 'integer'),
    parameter('f', 'number'),
    parameter('list', 'array', { items: { type: ['integer', 'null'] } }),
    parameter('type', 'integer', { default: 1, enum: [1, 2] }),
    parameter('default', 'integer')
  )
  for (const n of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, -0, 1e3]) {
    t.equal(check({ n }), undefined, String(n))
  }
  t.equal(check({ n: Number.MAX_SAFE_INTEGER + 1 }), 'parameters/n must be <= 9007199254740991')
  t.equal(check({ n: -1e300 }), 'parameters/n must be >= -9007199254740991')
  t.equal(check({ list: [1, null, 1e20] }), 'parameters/list/2 must be <= 9007199254740991')
  t.equal(check({ default: 1e20 }), 'parameters/default must be <= 9007199254740991', 'whatever it is called')
  t.equal(check({ n: 1.5 }), 'parameters/n must be integer')
  t.equal(check({ f: 1e300, list: [null] }), undefined, 'a number may be as large as it likes')
  t.equal(check({ f: Infinity }), 'parameters/f must be number')
})

t.test('names that each object inherits are names like any other', async t => {
  const check = compileCheck({
    type: 'object', additionalProperties: false, required: ['toString'],
    properties: {
      constructor: { type: 'string', default: 'filled' }, toString: { type: 'integer' },
      hasOwnProperty: { type: 'string' },
      inner: { type: 'object', default: {}, properties: { valueOf: { default: 1 } } }
    }
  }, 'parameters')
  const value = JSON.parse('{"toString": 1, "inner": {}}') as object
  t.equal(check(value), undefined)
  t.equal(JSON.stringify(value), '{"toString":1,"inner":{"valueOf":1},"constructor":"filled"}')
  t.match(check({}), /must have the field "toString"/)
  t.match(check({ toString: 'x' }), /parameters\/toString must be integer/)
  t.match(check({ toString: 1, valueOf: 1 }), /unknown field "valueOf"/)
})

t.test('parameters with the names of keywords may need each other', async t => {
  const names = ['properties', 'items', 'type']
  const check = compileCheck(compileInputSchema(
    names.map(name => parameter(name, 'string')), { dependentRequired: { properties: ['items'], type: ['properties'] } }
  ), 'parameters')
  t.equal(check({ properties: 'a', items: 'b' }), undefined)
  t.match(check({ properties: 'a' }), /items/)
})
