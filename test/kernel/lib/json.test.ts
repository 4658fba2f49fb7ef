import fc from 'fast-check'
import t from 'tap'
import { decodeJson, jsonDepthMax } from '../../../kernel/lib/json.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

t.test('any JSON value without a __proto__ key survives', async t => {
  fc.assert(fc.property(fc.jsonValue(), value => {
    const text = JSON.stringify(value)
    fc.pre(!text.includes('__proto__'))
    t.strictSame(decodeJson(bytes(text)), JSON.parse(text))
  }), { numRuns: 300 })
})

t.test('no bytes whatever make it throw anything but INVALID_PARAMETERS', async t => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), input => {
    try { decodeJson(input) } catch (error) { t.match(error, { code: 'INVALID_PARAMETERS' }) }
  }), { numRuns: 1000 })
})

t.test('what is wrong is said', async t => {
  const refused = (input: Uint8Array | string, why: RegExp): void => {
    t.throws(
      () => decodeJson(typeof input === 'string' ? bytes(input) : input),
      { code: 'INVALID_PARAMETERS', message: why },
      String(why)
    )
  }
  refused('', /empty/)
  refused('\ufeff{}', /byte order mark/)
  refused(Uint8Array.of(0x22, 0xff, 0x22), /UTF-8/)
  refused(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), /UTF-8/)
  refused('{} trailing', /not valid JSON/)
  refused('{"a":}', /not valid JSON/)
  for (const text of ['{"key": canary}', 'canary', '{"key": "canary" canary}', '{"key": "canary\ncanary"}']) {
    refused(text, /^body is not valid JSON: (?!.*cana)/)
  }
  refused(nested(jsonDepthMax + 1), /deeper than 64/)
  refused('[' .repeat(100_000), /deeper than 64/)
  refused('{"__proto__": {"polluted": true}}', /__proto__/)
  refused('{"a": [{"\\u005f_proto__": 1}]}', /__proto__/)
  refused('{"\\u005F\\u005Fproto__": 1}', /__proto__/)
  for (const huge of ['1e400', '-1E+0400', `1${'0'.repeat(400)}`, `1${'0'.repeat(250)}e99`]) {
    refused(`{"a": [${huge}]}`, /number that is too large/)
  }
  for (const half of ['"\\ud800"', '{"\\uDFFF": 1}', '["\\ude00\\ud83d"]']) refused(half, /half of a surrogate pair/)
})

t.test('what only looks wrong is taken', async t => {
  t.ok(decodeJson(bytes(nested(jsonDepthMax))))
  t.equal(decodeJson(bytes(JSON.stringify('['.repeat(1000)))), '['.repeat(1000), 'brackets in a string do not nest')
  t.equal(
    decodeJson(bytes(JSON.stringify('\\"'.repeat(50) + '['.repeat(100)))),
    '\\"'.repeat(50) + '['.repeat(100),
    'escaped quotes do not end a string'
  )
  t.strictSame(decodeJson(bytes('{"a":"__proto__"}')), { a: '__proto__' }, 'as a value it is a text like any other')
  t.strictSame(decodeJson(bytes('["\\ud83d\\ude00", 1e308, -0, 1.0]')), ['😀', 1e308, -0, 1])
  t.strictSame(decodeJson(bytes('{"a":1,"a":2}')), { a: 2 }, 'the last of two counts')
  const inherited = decodeJson(bytes('{"constructor":{"prototype":{"polluted":1}},"toString":2}'))
  t.strictSame(Object.keys(inherited as object), ['constructor', 'toString'])
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
  t.ok(Object.hasOwn(decodeJson(bytes('{"constructor":1}')) as object, 'constructor'))
})
