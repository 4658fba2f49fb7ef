import * as fc from 'fast-check'
import t from 'tap'
import { needleMin } from '../../../kernel/secrets/needle-beginnings.ts'
import { Needles, type Cut } from '../../../kernel/secrets/needles.ts'
import { atOnce, inTurns } from '../../../kernel/lib/pauses.ts'

/** The same, by looking at every place for every needle. */
function naiveSpans (text: string, needles: readonly string[], cut: Cut): number[] {
  const found: [from: number, to: number][] = []
  for (const needle of needles) {
    for (let i = text.indexOf(needle); i !== -1; i = text.indexOf(needle, i + 1)) found.push([i, i + needle.length])
    for (let length = needleMin; length < needle.length && length <= text.length; length++) {
      if ((cut === 'end' || cut === 'both') && text.endsWith(needle.slice(0, length))) {
        found.push([text.length - length, text.length])
      }
      if ((cut === 'start' || cut === 'both') && text.startsWith(needle.slice(-length))) found.push([0, length])
    }
  }
  const spans: number[] = []
  for (const [from, to] of found.sort((a, b) => a[0] - b[0])) {
    const last = spans.at(-1)
    if (last !== undefined && from < last) spans[spans.length - 1] = Math.max(last, to)
    else spans.push(from, to)
  }
  return spans
}

/**
 * Few different code units, so that needles overlap, hold each other and repeat; among them some that share their lower
 * eight bits.
 */
const unit = fc.constantFrom('a', 'b', 'š', '\u0261', '\ud83d')
const needle = fc.oneof(
  fc.string({ unit, minLength: needleMin, maxLength: 9 }),
  fc.tuple(fc.string({ unit, minLength: 1, maxLength: 3 }), fc.integer({ min: 4, max: 12 }))
    .map(([piece, times]) => piece.repeat(times))
)
const cut = fc.constantFrom<Cut>('none', 'start', 'end', 'both')
/** Needles, and a text made of pieces of them. */
const sought = fc.array(needle, { minLength: 1, maxLength: 12 }).chain(needles => fc.record({
  needles: fc.constant(needles),
  text: fc.array(fc.oneof(
    fc.tuple(fc.constantFrom(...needles), fc.nat(12), fc.nat(12)).map(([needle, from, to]) => needle.slice(from, to)),
    fc.constantFrom(...needles),
    fc.string({ unit, maxLength: 6 })
  ), { maxLength: 12 }).map(pieces => pieces.join(''))
}))

t.test('they are found as by looking at every place for each, at cuts too', async () => {
  fc.assert(fc.property(sought, cut, ({ needles, text }, cut) => {
    const found = [...atOnce(new Needles(needles).find(text, cut))]
    const expected = naiveSpans(text, needles, cut)
    if (found.join() !== expected.join()) {
      throw new Error(`${JSON.stringify(needles)} in ${JSON.stringify(text)} (${cut}): ${found.join()} instead of ${expected.join()}`)
    }
  }), { numRuns: 5_000 })
})

t.test('so are many, and long ones, which are looked for in several passes', async t => {
  const long = Array.from({ length: 3 }, (_, i) => `${'abcdefgh'.repeat(20_000)}${i}${'z'.repeat(150_000)}`)
  const many = Array.from({ length: 12_000 }, (_, i) => `needle ${i * 7919} of many`)
  const pieces =
    [long[1] ?? '', ', ', many[1] ?? '', long[2]?.slice(1) ?? '', many[9_999] ?? '', long[0]?.slice(0, 50_000) ?? '']
  const text = pieces.join('')
  const needles = new Needles([...long, ...many])
  const [first, second, third] = [0, 2, 4].map(count => pieces.slice(0, count).join('').length)
  const expected = [
    first, long[1]?.length, second, (second ?? 0) + (many[1]?.length ?? 0), third,
    (third ?? 0) + (many[9_999]?.length ?? 0)
  ]
  t.same(await inTurns(needles.find(text, 'none')), expected)
  t.same(
    await inTurns(needles.find(text, 'end')),
    [...expected, text.length - 50_000, text.length],
    'a long piece at the end'
  )
  const cutOff = `${long[2]?.slice(5)} ${'abcdefgh'.repeat(2)}`
  t.same(
    await inTurns(needles.find(cutOff, 'both')),
    [0, (long[2]?.length ?? 0) - 5, cutOff.length - 16, cutOff.length],
    'and at both'
  )
})

t.test('the event loop turns while a long text is searched', async t => {
  const needles = new Needles(Array.from({ length: 1_200 }, (_, i) => `the secret ${i}, which is none`))
  const text = 'the secret 12, which is not; '.repeat(300_000)
  let turns = 0
  let done = false
  const turn = (): void => {
    turns++
    if (!done) setImmediate(turn)
  }
  turn()
  t.same(await inTurns(needles.find(text, 'none')), [])
  done = true
  t.ok(turns > 2, `it turned ${turns} times`)
})
