import fc from 'fast-check'
import t from 'tap'
import { sumOf } from '../../skills/math/statistics.ts'
import { startBundled } from '../support/bundled.ts'

const { call, json, close } = await startBundled()
t.teardown(close)

const evaluate = (expression: string, more = {}): Promise<string> => call('math', 'evaluate', { expression, ...more })

t.test('evaluate', async t => {
  for (const [expression, result, more] of [
    ['2 + 3 * 4', '14'], ['2^10', '1024'], ['sqrt(-4)', '2i'], ['5 cm to inch', '1.96850393700787 inch'],
    ['sin(90 deg)', '1'], ['[1, 2; 3, 4] * [1; 1]', '[[3], [7]]'],
    ['a = 3\nb = a * 2\nb + 1', '7'], ['x * y', '6 cm', { variables: { x: 3, y: '2 cm' } }],
    ['sum(v)', '6', { variables: { v: [1, 2, 3] } }],
    ['0.1 + 0.2', '0.3', { numbers: 'BigNumber' }],
    ['2^100', '1267650600228229401496703205376', { numbers: 'BigNumber' }],
    ['1/3 + 1/6', '1/2', { numbers: 'Fraction' }],
    ['true and false', 'false']
  ] as const) t.equal(await evaluate(expression, more).then(text => text.replace(/^"|"$/g, '')), result, expression)
})

t.test('nothing but calculation is there', async t => {
  for (const expression of [
    'import({ sqrt: 1 })', 'createUnit("foo")', 'evaluate("1+1")', 'parse("1+1")', 'simplify("x+x")',
    'derivative("x^2", "x")', 'config({})', 'compile("1")', 'parser()', 'chain(1)', 'help("sin")',
    'cos.constructor("return process")()', '"".constructor', '[].constructor', 'f(x) = x\nf.constructor("return 1")()',
    '{}.constructor', 'f(x) = x', 'process.exit(1)', 'require("fs")', 'unknown', '2 +', '1/',
    'expression.docs.sin.constructor'
  ]) await t.rejects(evaluate(expression), { code: 'TOOL_EXECUTION_FAILED' }, expression)
  t.equal(await evaluate('sqrt(16)'), '4', 'and all is as before')
  await t.rejects(evaluate('1', { variables: { 'a.b': 1 } }), { message: /can't be the name of a variable/ })
  await t.rejects(evaluate('1', { variables: { a: {} } }), { code: 'INVALID_PARAMETERS' })
  await t.rejects(evaluate('f(x) = f(x)\nf(1)'), { code: 'TOOL_EXECUTION_FAILED' }, 'endless recursion')
})

t.test('statistics', async t => {
  t.same(await json('math', 'statistics', { numbers: [2, 4, 4, 4, 5, 5, 7, 9], percentiles: [25, 90] }), {
    count: 8, sum: 40, mean: 5, median: 4.5, min: 2, max: 9, mode: [4], variance: 32 / 7,
    standard_deviation: Math.sqrt(32 / 7), population_variance: 4, population_standard_deviation: 2,
    percentiles: { 25: 4, 90: 7.6 }
  })
  t.match(await json('math', 'statistics', { numbers: [3] }), {
    count: 1, mean: 3, median: 3, mode: [], variance: undefined
  })
  t.equal(sumOf([1, 1e100, 1, -1e100]), 2, 'where a plain sum gives 0')
  await t.rejects(call('math', 'statistics', { numbers: [] }), { code: 'INVALID_PARAMETERS' })
  await t.rejects(call('math', 'statistics', { numbers: ['a'] }), { code: 'INVALID_PARAMETERS' })
})

t.test('units and bases', async t => {
  t.equal(
    await call('math', 'convert_unit', { value: -40, from: 'degF', to: 'degC' })
      .then(text => Math.round(Number.parseFloat(text))),
    -40
  )
  t.equal(await call('math', 'convert_unit', { value: 1, from: 'GiB', to: 'MiB' }), '1024 MiB')
  await t.rejects(call('math', 'convert_unit', { value: 1, from: 'kg', to: 'm' }), { message: /unit/i })
  await t.rejects(call('math', 'convert_unit', { value: 1, from: 'florin', to: 'm' }), {
    code: 'TOOL_EXECUTION_FAILED'
  })
  t.equal(await call('math', 'convert_base', { number: '0xFF', to: 2 }), '11111111')
  t.equal(await call('math', 'convert_base', { number: '-zz', from: 36, to: 10 }), '-1295')
  t.equal(await call('math', 'convert_base', { number: '0b1', from: 16, to: 10 }), '177', 'digits of base 16')
  await t.rejects(call('math', 'convert_base', { number: '129', from: 8, to: 10 }), {
    message: '"9" is no digit of base 8'
  }).catch(() => t.fail())
  await fc.assert(fc.asyncProperty(fc.bigInt(), fc.integer({ min: 2, max: 36 }), async (value, base) => {
    if (
      await call('math', 'convert_base', { number: value.toString(base), from: base, to: 10 }) !== String(value)
      && base !== 10
    ) {
      throw new Error(`${value} in base ${base}`)
    }
  }), { numRuns: 50 })
})
