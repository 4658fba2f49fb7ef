import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../kernel/index.ts'
import { startBundled } from '../support/bundled.ts'
import { read, write, type Format } from '../../skills/data/formats.ts'

const { call, json, close } = await startBundled()
t.teardown(close)

const convert = (text: string, from: string, to: string, more = {}): Promise<string> =>
  call('data', 'convert', { text, from, to, indent: 0, ...more })

t.test('convert: each format', async t => {
  t.equal(await convert('a: [1, two, null, 2026-01-02]\n', 'yaml', 'json'), '{"a":[1,"two",null,"2026-01-02"]}')
  t.equal(await convert('x: &x {y: 1}\nz: *x', 'yaml', 'json'), '{"x":{"y":1},"z":{"y":1}}')
  t.equal(
    await convert('[a]\nb = 2026-01-02T03:04:05Z\nc = 1979-05-27', 'toml', 'json'),
    '{"a":{"b":"2026-01-02T03:04:05.000Z","c":"1979-05-27"}}'
  )
  t.equal(
    await convert('name,age\n"Lovelace, ""Ada""",36\n', 'csv', 'json'),
    '[{"name":"Lovelace, \\"Ada\\"","age":"36"}]'
  )
  t.equal(
    await convert('a;b\n007;7\n"7";true\n', 'csv', 'json', { delimiter: ';', infer_types: true }),
    '[{"a":"007","b":7},{"a":"7","b":true}]'
  )
  t.equal(await convert('a,b\n', 'csv', 'json', { header: false }), '[["a","b"]]')
  t.equal(await convert('[{"a":1},{"b":[2]}]', 'json', 'csv'), 'a,b\n1,\n,[2]\n')
  t.equal(
    await convert('<?xml version="1.0"?><a id="1"><b>007</b><b>x &amp; y</b></a>', 'xml', 'json'),
    '{"a":{"b":["007","x & y"],"@id":"1"}}'
  )
  t.equal(
    await convert('{"a":{"@id":1,"b":["x < y",true]}}', 'json', 'xml'),
    '<a id="1"><b>x &lt; y</b><b>true</b></a>'
  )
  t.equal(await convert('{"a":{"b":1}}', 'json', 'toml'), '[a]\nb = 1\n')
  t.equal(await convert('{"a":1}', 'json', 'json', { indent: 1 }), '{\n "a": 1\n}')
  t.equal(
    await convert('{"__proto__": {"polluted": 1}}', 'json', 'yaml', { indent: 2 }),
    '__proto__:\n  polluted: 1\n',
    'a name like any other'
  )
})

t.test('convert: what can not be kept is refused', async t => {
  for (const [text, from, to, message] of [
    ['{"a": 1', 'json', 'yaml', /not valid JSON/],
    ['{"a": "9007199254740993", "b": 9007199254740993}', 'json', 'yaml', /9007199254740993 can't be kept exactly/],
    ['a: 9007199254740993', 'yaml', 'json', /can't be kept exactly/],
    ['a: .inf', 'yaml', 'json', /Infinity has no equal/],
    ['a: 1\na: 2', 'yaml', 'json', /not valid YAML: .*unique/],
    ['a: 1\n---\nb: 2', 'yaml', 'json', /not valid YAML: .*multiple documents/i],
    ['a = 1\na = 2', 'toml', 'json', /not valid TOML: .*line 2/],
    ['{"a": [{"b": null}]}', 'json', 'toml', /TOML has no null \(at \/a\/0\/b\)/],
    ['[1]', 'json', 'toml', /TOML holds an object/],
    ['a,b\n1\n', 'csv', 'json', /not valid CSV/],
    ['a,a\n1,2\n', 'csv', 'json', /the column "a" twice/],
    ['{"a": 1}', 'json', 'csv', /CSV holds a list/],
    ['[1]', 'json', 'csv', /a list of objects or a list of lists/],
    ['<a><b></a>', 'xml', 'json', /not valid XML: .*line 1/],
    ['{"a": {"b c": 1}}', 'json', 'xml', /no name of an element or attribute \(at \/a\/b c\)/],
    ['{"a": 1, "b": 2}', 'json', 'xml', /one element at its top/],
    ['['.repeat(200) + ']'.repeat(200), 'json', 'yaml', /more than 100 deep/]
  ] as const) {
    await t.rejects(convert(text, from, to), { code: 'TOOL_EXECUTION_FAILED', message }, `${from} ${text.slice(0, 40)}`)
  }
  await t.rejects(convert('a', 'ini', 'json'), { code: 'INVALID_PARAMETERS' })
  const laughs = Array.from(
    { length: 12 },
    (_, i) => `a${i}: &a${i} [${i === 0 ? 'lol' : Array.from({ length: 9 }, () => `*a${i - 1}`).join(', ')}]`
  ).join('\n')
  await t.rejects(convert(laughs, 'yaml', 'json'), { message: /alias/i }, 'a billion laughs')
  const entities = Array.from({ length: 12 }, (_, i) =>
    `<!ENTITY e${i} "${i === 0 ? 'lol' : `&e${i - 1};`.repeat(9)}">`)
  const document = `<!DOCTYPE a [${entities.join('')}]><a>&e11;</a>`
  t.ok((await convert(document, 'xml', 'json').catch(() => '')).length < 10_000, 'or as XML entities')
})

t.test('a round trip through a format gives the same values', async () => {
  const csv = { delimiter: ',', header: true, infer_types: false }
  const there = async (value: unknown, format: Format): Promise<unknown> =>
    await read(await write(value, format, 2, csv), format, csv)
  const text = fc.string({ unit: 'grapheme', maxLength: 20 })
  const leaf = [
    text,
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true })
      .filter(value => !Object.is(value, -0) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
  ]
  const { tree, untilNull } = fc.letrec(tie => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      ...leaf,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(text, tie('tree'), { maxKeys: 4 })
    ),
    untilNull: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      ...leaf,
      fc.array(tie('untilNull'), { maxLength: 4 }),
      fc.dictionary(text, tie('untilNull'), { maxKeys: 4 })
    )
  }))
  const equal = (a: unknown, b: unknown): void => {
    if (JSON.stringify(sorted(a)) !== JSON.stringify(sorted(b))) throw new Error(`${JSON.stringify(b)} came back`)
  }
  for (const format of ['json', 'yaml'] as const) {
    await fc.assert(fc.asyncProperty(untilNull, async value => { equal(value, await there(value, format)) }), {
      numRuns: 300
    })
  }
  await fc.assert(
    fc.asyncProperty(fc.dictionary(text, tree, { maxKeys: 5 }), async value => {
      equal(value, await there(value, 'toml'))
    }),
    { numRuns: 300 }
  )
  const table = fc.uniqueArray(text.filter(name => name !== ''), { minLength: 2, maxLength: 4 })
    .chain(names => {
      const row = fc.tuple(...names.map(() => text))
        .map(cells => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ''])))
      return fc.array(row, { minLength: 1, maxLength: 5 })
    })
  await fc.assert(fc.asyncProperty(table, async value => { equal(value, await there(value, 'csv')) }), { numRuns: 300 })
})

/** TOML puts tables last; the order of fields is no part of a value. */
function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1).map(([key, item]) => [key, sorted(item)])
}

t.test('query', async t => {
  t.same(await json('data', 'query', { text: '{"a": [1, 2, 3]}', expression: 'a[?@ > `1`]' }), [2, 3])
  t.equal(await json('data', 'query', { text: 'a: 1', format: 'yaml', expression: 'b' }), null)
  await t.rejects(call('data', 'query', { text: '{}', expression: 'a[' }), { message: /the expression can't be used/ })
  await t.rejects(call('data', 'query', { text: '{}', expression: 'nothing(@)' }), { message: /nothing/ })
})

t.test('diff and patch undo each other', async t => {
  await t.rejects(call('data', 'patch', { text: '{}', patch: [{ op: 'test', path: '/a', value: 1 }] }), {
    message: /operation 0 \(test \/a\) can't be applied/
  })
  await t.rejects(call('data', 'patch', { text: '{}', patch: [{ op: 'explode', path: '/a' }] }), {
    message: /operation 0/
  })
  await t.rejects(call('data', 'patch', { text: '{}', patch: [{ op: 'add', path: 'a', value: 1 }] }), {
    message: /needs a "path"/
  })
  await t.rejects(
    call('data', 'patch', { text: '{}', patch: [{ op: 'add', path: '/__proto__/polluted', value: 1 }] }),
    { message: /can't have "__proto__"/ }
  )
  t.equal(await json('data', 'patch', { text: '[1]', patch: [{ op: 'replace', path: '', value: 7 }] }), 7)
  await fc.assert(fc.asyncProperty(
    fc.json({ maxDepth: 3 }).filter(usable),
    fc.json({ maxDepth: 3 }).filter(usable),
    async (before, after) => {
      const patch = await json('data', 'diff', { before, after }) as []
      t.same(await json('data', 'patch', { text: before, patch }), JSON.parse(after))
    }
  ), { numRuns: 40 })
})

/** Numbers that are kept exactly; no path leads through `__proto__`. */
function usable (text: string): boolean {
  return !text.includes('__proto__') && !/\d{16}|e[+-]|-0/i.test(text)
}

t.test('validate', async t => {
  const schema = {
    type: 'object',
    properties: { mail: { type: 'string', format: 'email' }, n: { type: 'integer' } },
    required: ['mail']
  }
  t.same(await json('data', 'validate', { text: 'mail: a@b.example', format: 'yaml', schema }), {
    valid: true,
    errors: []
  })
  t.match(await json('data', 'validate', { text: '{"mail": "x", "n": 1.5}', schema }), {
    valid: false,
    errors: [{ path: '/mail', keyword: 'format' }, { path: '/n', message: 'must be integer' }]
  })
  t.match(
    await json('data', 'validate', {
      text: '[1]',
      schema: { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
    }),
    { valid: false },
    'draft 7 has tuples as `items`'
  )
  t.match(
    await json('data', 'validate', {
      text: JSON.stringify(Array.from({ length: 60 }, () => 1)),
      schema: { items: { type: 'string' } }
    }),
    { valid: false, more: 10 }
  )
  await t.rejects(call('data', 'validate', { text: '1', schema: { type: 'nothing' } }), {
    message: /the schema can't be used/
  })
  await t.rejects(call('data', 'validate', { text: '1', schema: { $ref: 'http://127.0.0.1:1/x.json' } }), {
    message: /the schema can't be used: can't resolve reference/
  })
})

t.test('validate: a pattern takes linear time, whatever it is', async t => {
  const text = JSON.stringify({ name: `${'a'.repeat(50_000)}!`, [`${'b'.repeat(50)}!`]: 1 })
  const validate = (schema: JsonObject): Promise<unknown> => json('data', 'validate', { text, schema })
  t.match(await validate({ properties: { name: { pattern: '^(a+)+$' } } }), {
    valid: false,
    errors: [{ path: '/name', keyword: 'pattern' }]
  })
  t.match(await validate({ patternProperties: { '^(b+)+$': false } }), { valid: true })
  t.match(
    await validate({
      $schema: 'http://json-schema.org/draft-07/schema#', properties: { name: { pattern: '^(a|aa)+$' } }
    }),
    { valid: false }
  )
  t.match(
    await validate({ properties: { name: { pattern: '^[\\u0061\\/]+(?<last>!)$' } } }),
    { valid: true },
    'the syntax is JavaScript\'s'
  )
  await t.rejects(validate({ properties: { name: { pattern: '(?<=a)b' } } }), {
    message: /the schema can't be used: the pattern "\(\?<=a\)b" can't be matched in linear time/
  })
})
