import * as fc from 'fast-check'
import t from 'tap'
import { Counters, type Policy } from '../../../plugins/http/access/counters.ts'

const policies: readonly Policy[] =
  [{ name: 'minute', quota: 3, window_s: 60 }, { name: 'hour', quota: 5, window_s: 300 }]

/** The same in words: the times of what was admitted, and in which window each policy stands. */
class Model {
  readonly #began = policies.map(() => Number.NEGATIVE_INFINITY)
  readonly #admitted = policies.map(() => 0)

  take (now: number): { full: string[], remaining: number[] } {
    policies.forEach(({ window_s }, i) => { if (now >= (this.#began[i] ?? 0) + window_s * 1000) this.#admitted[i] = 0 })
    const full = policies.filter(({ quota }, i) => (this.#admitted[i] ?? 0) >= quota).map(({ name }) => name)
    if (full.length === 0) {
      policies.forEach((_, i) => {
        if (this.#admitted[i] === 0) this.#began[i] = now
        this.#admitted[i] = (this.#admitted[i] ?? 0) + 1
      })
    }
    return { full, remaining: policies.map(({ quota }, i) => quota - (this.#admitted[i] ?? 0)) }
  }
}

t.test('whatever is asked whenever, it counts as the model does', async t => {
  const step = fc.record({
    caller: fc.constantFrom('a', 'b'),
    wait_ms: fc.oneof(fc.nat(2_000), fc.nat(70_000), fc.constantFrom(59_999, 60_000, 300_000))
  })
  let refused = 0
  fc.assert(fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), steps => {
    let now = 1_000_000
    const counters = new Counters({ callersMax: 10, now: () => now })
    const models = new Map([['a', new Model()], ['b', new Model()]])
    for (const { caller, wait_ms } of steps) {
      now += wait_ms
      const expected = models.get(caller)?.take(now)
      const { refusedBy, left } = counters.take(caller, policies)
      if (refusedBy !== undefined) refused++
      const found = {
        full: refusedBy === undefined
          ? []
          : left.filter(({ remaining }) => remaining === 0).map(({ policy }) => policy.name),
        remaining: left.map(({ remaining }) => remaining)
      }
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(expected)}`)
      }
      for (const { policy, reset_s } of left) {
        if (!(reset_s >= 1 && reset_s <= policy.window_s)) throw new Error(`${policy.name} begins anew in ${reset_s} s`)
      }
    }
  }), { numRuns: 500, seed: 42 })
  t.ok(refused > 1_000, 'a limit that never refuses would agree too')
})

t.test('what the minute refuses costs nothing of the hour', async t => {
  let now = 0
  const counters = new Counters({ callersMax: 10, now: () => now })
  const take = (): string => counters.take('a', policies).refusedBy?.name ?? 'ok'
  t.same([1, 2, 3, 4, 5, 6].map(take), ['ok', 'ok', 'ok', 'minute', 'minute', 'minute'])
  now = 60_000
  t.same([1, 2, 3].map(take), ['ok', 'ok', 'hour'], 'two of the five of the hour were left')
})

t.test('the table is bounded, and nobody new is refused when it is full', async t => {
  let now = 0
  const counters = new Counters({ callersMax: 1_000, now: () => now })
  for (let i = 0; i < 5; i++) counters.take('victim', policies)
  for (let i = 0; i < 20_000; i++) {
    now += 0.01
    if (counters.take(`flood ${i}`, policies).refusedBy !== undefined) t.fail('a new caller was refused')
    if (counters.size > 1_000) throw new Error(`${counters.size} callers are remembered`)
  }
  t.equal(counters.take('victim', policies).refusedBy, undefined)
  now += 301_000
  for (let i = 0; i < 600; i++) counters.take('one', policies)
  for (let i = 0; i < 600; i++) counters.take(`later ${i}`, policies)
  t.ok(counters.size < 700, `what has ended is dropped: ${counters.size}`)
})
