import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  Canceller, type JsonObject, type Outcome, type SkillDefinition, type ToolDefinition
} from '../../kernel/index.ts'
import { Batch } from '../../plugins/executor-worker/main/batch.ts'
import plugin from '../../plugins/executor-worker/index.ts'
import { paceOf } from '../../plugins/executor-worker/main/pace.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'
import { until } from '../../plugins/testing/until.ts'

const module = fileURLToPath(new URL('../fixtures/executor-worker/batch.mjs', import.meta.url))

/** Sizes of the batches that were dispatched. */
const batches: number[] = []
const { perform } = Batch.prototype
Batch.prototype.perform = function (this: Batch) {
  batches.push(this.runs.length)
  return perform.call(this)
}

interface Heard { outcome: Promise<Outcome>, events: string[], cancel: Canceller }
interface Subject {
  /** Begins a run of the tool with that number. */
  begin (tool: number, parameters: JsonObject, timeout_ms?: number): Heard
  /** Runs all tools until each is known to be short. */
  warm (): Promise<void>
  lines: string[]
}

async function open (t: Test, execution: JsonObject = {}): Promise<Subject> {
  const lines: string[] = []
  const write = (fields: object, text: string): void => { lines.push(`${text} ${JSON.stringify(fields)}`) }
  const log = { debug () {}, info: write, warn: write, error: write, child: () => log }
  const { service: executor, close } =
    await openPlugin(plugin, { config: { execution: { threads: 2, ...execution } }, log })
  t.teardown(close)
  const calls = Array.from(
    { length: 16 },
    (_, i): { skill: SkillDefinition, tool: ToolDefinition } => callOf('script', { name: `tool${i}` }, {}, { module })
  )
  const config = {}
  let runs = 0
  const begin: Subject['begin'] = (number, parameters, timeout_ms = 60_000) => {
    const { skill, tool } = calls[number % calls.length] ?? callOf('script', { name: '' }, {})
    const events: string[] = []
    const cancel = new Canceller()
    const observer = {
      started (_isolation: string, ago_ms = 0) { events.push(ago_ms >= 0 ? 'started' : 'started in the future') },
      progress (_done: number, _total: number | undefined, message: string | undefined) { events.push(message ?? '') },
      log (_level: string, text: string) { events.push(text) }
    }
    const task = { execution_id: `run-${++runs}`, skill, tool, parameters, timeout_ms, config }
    return { outcome: executor.run(task, observer, cancel).finally(() => { events.push('ended') }), events, cancel }
  }
  return {
    begin,
    lines,
    async warm () {
      for (const [i, { tool }] of calls.entries()) {
        while (!paceOf(tool).short) await begin(i, { kind: 'text', id: 'warm' }).outcome
      }
    }
  }
}

const text = (id: number): object => ({ status: 'success', output: `text ${id}`, output_truncated: false })

/** What each kind must come to, whatever stands beside it. */
const expected: Record<string, (id: number) => { outcome: object, timeout_ms?: number, events?: string[] }> = {
  text: id => ({ outcome: text(id) }),
  json: id => ({ outcome: { status: 'success', output: `{"id":${id}}` } }),
  big: id => ({ outcome: { status: 'success', output: `${id} `.padEnd(200_000, 'é'), output_truncated: false } }),
  fail: id => ({ outcome: { status: 'failed', error: { message: `no ${id}`, details: { name: 'RangeError' } } } }),
  soon: id => ({ outcome: text(id) }),
  wait: id => ({ outcome: text(id) }),
  says: id => ({ outcome: text(id), events: ['started', `log ${id}`, `progress ${id}`, `line ${id}`, 'ended'] }),
  hang: () => ({ outcome: { status: 'timeout', output: '' }, timeout_ms: 40 }),
  hangTick: () => ({ outcome: { status: 'timeout' }, timeout_ms: 40 }),
  hangMicrotask: () => ({ outcome: { status: 'timeout' }, timeout_ms: 40 }),
  never: () => ({ outcome: { status: 'timeout' }, timeout_ms: 40 }),
  exit: () => ({ outcome: { status: 'failed', error: { message: 'the tool ended its thread with code 7' } } }),
  leave: id => ({ outcome: text(id) }),
  leaveHidden: id => ({ outcome: text(id) }),
  leaveImmediate: id => ({ outcome: text(id) }),
  reject: id => ({ outcome: text(id) })
}
const usual = ['text', 'json', 'soon']
const kind = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...usual) },
  { weight: 2, arbitrary: fc.constantFrom(...Object.keys(expected)) }
)

t.setTimeout(240_000)

t.test('whatever stands in a batch: each run has its own outcome, and ran once', async t => {
  const { begin, warm } = await open(t)
  const folder = t.testdir()
  let round = 0
  await fc.assert(fc.asyncProperty(
    fc.array(fc.record({ kind, cancelled: fc.integer({ min: 0, max: 15 }) }), { minLength: 30, maxLength: 120 }),
    async calls => {
      const file = `${folder}/${++round}`
      await warm()
      const began = batches.length
      const runs = calls.map(({ kind, cancelled }, id) => {
        const { timeout_ms } = expected[kind]?.(id) ?? {}
        const run = begin(id, { kind, id, file }, timeout_ms)
        if (cancelled === 0) setTimeout(() => { run.cancel.abort() }, id % 8)
        return { run, kind, id, cancelled: cancelled === 0 }
      })
      const marks: string[] = []
      for (const { run, kind, id, cancelled } of runs) {
        const outcome = await run.outcome
        const { outcome: pattern, events } = expected[kind]?.(id) ?? {}
        if (cancelled && outcome.status === 'cancelled') {
          t.ok(run.events.filter(event => event === 'started').length <= 1, `${id} ${kind} cancelled`)
          if (run.events.includes('started')) marks.push(`${id}`)
          continue
        }
        t.match(outcome, pattern, `${id} ${kind}`)
        t.same(
          events === undefined ? run.events.filter(event => event === 'started' || event === 'ended') : run.events,
          events ?? ['started', 'ended'],
          `${id} ${kind}: started, what it said, ended`
        )
        marks.push(`${id}`)
      }
      t.same(
        readFileSync(file, 'utf8').split('\n').filter(line => line !== '').toSorted(),
        marks.toSorted(),
        'each that started ran once'
      )
      t.ok(batches.slice(began).some(size => size > 8), 'they went together')
    }
  ), { numRuns: 5 })
})

t.test('what exhausts its memory in a batch fails alone', async t => {
  const { begin, warm } = await open(t, { heap_bytes_max: 64 * 1_048_576, threads: 1 })
  await warm()
  const runs = Array.from({ length: 32 }, (_, id) => begin(id, { kind: id === 9 ? 'hog' : 'text', id }))
  for (const [id, { outcome }] of runs.entries()) {
    t.match(await outcome, id === 9 ? { status: 'failed', error: { message: /ran out of memory/ } } : text(id), `${id}`)
  }
  t.ok(batches.includes(32))
})

t.test('an error nobody caught is its own run\'s, and is heard of', async t => {
  const { begin, warm, lines } = await open(t, { threads: 1 })
  await warm()
  const runs = Array.from(
    { length: 12 },
    (_, id) => begin(id, { kind: id % 3 === 0 ? 'reject' : id % 3 === 1 ? 'wait' : 'text', id })
  )
  for (const [id, { outcome }] of runs.entries()) t.match(await outcome, text(id), `${id}`)
  await until(() => [0, 3, 6, 9].every(id => lines.some(line => line.includes(`stray ${id}`))))
})

t.test('short runs do not wait for long ones that fill the other threads', async t => {
  const { begin, warm } = await open(t, { threads: 2 })
  await warm()
  const [hung] = [begin(0, { kind: 'hang', id: 0 })]
  const quick = Array.from({ length: 200 }, (_, id) => begin(1 + id % 15, { kind: 'text', id }))
  for (const [id, { outcome }] of quick.entries()) t.match(await outcome, text(id))
  t.same(hung.events, ['started'], 'it still hangs, and is known to run')
  hung.cancel.abort()
  t.match(await hung.outcome, { status: 'cancelled' })
})

t.test('a tool that turns out slow goes alone, and comes back', async t => {
  const { begin, warm } = await open(t)
  await warm()
  t.match(await begin(3, { kind: 'hang', id: 1 }, 30).outcome, { status: 'timeout' })
  const before = batches.length
  t.match(await begin(3, { kind: 'text', id: 2 }).outcome, text(2))
  t.equal(batches.length, before, 'alone')
  await until(async () => {
    t.match(await begin(3, { kind: 'text', id: 3 }).outcome, text(3))
    return batches.length > before
  })
  t.pass('trusted again')
})

t.test('what is given a secret is alone in its thread', async t => {
  const { service: executor, close } = await openPlugin(plugin, { config: { execution: { threads: 2 } } })
  t.teardown(close)
  const { skill, tool } = callOf('script', { name: 'tool0' }, {}, { module })
  const before = batches.length
  const observer = { started () {}, progress () {}, log () {} }
  const run = (secrets?: Record<string, string>): Promise<Outcome> => executor.run({
    execution_id: 'x', skill, tool, parameters: { kind: 'text', id: 1 }, timeout_ms: 60_000, config: {},
    ...(secrets !== undefined && { secrets })
  }, observer, new Canceller())
  while (!paceOf(tool).short) await run({ token: 'value' })
  await Promise.all(Array.from({ length: 8 }, () => run({ token: 'value' })))
  t.equal(batches.length, before)
  await run()
  t.equal(batches.length, before + 1, 'the same tool without one goes with others')
})
