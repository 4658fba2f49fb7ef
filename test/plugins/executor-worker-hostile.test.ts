import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Executor, JsonObject, Outcome } from '../../kernel/index.ts'
import { Board, slotsMax } from '../../plugins/executor-worker/shared/board.ts'
import { readFromThread } from '../../plugins/executor-worker/shared/incoming.ts'
import plugin from '../../plugins/executor-worker/index.ts'
import { paceOf } from '../../plugins/executor-worker/main/pace.ts'
import type { FromThread, Of } from '../../plugins/executor-worker/shared/protocol.ts'
import { ThreadDeath } from '../../plugins/executor-worker/main/thread-death.ts'
import { Thread } from '../../plugins/executor-worker/main/thread.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/executor-worker/${name}.mjs`, import.meta.url))
const textMax = 1000

t.setTimeout(300_000)

/** Opens an executor of two threads for the length of a test. */
async function open (t: Test): Promise<{ lines: string[], executor: Executor }> {
  const lines: string[] = []
  const write = (fields: object, text: string): void => { lines.push(`${text} ${JSON.stringify(fields)}`) }
  const log = { debug () {}, info: write, warn: write, error: write, child: () => log }
  const { service: executor, close } = await openPlugin(plugin, { config: { execution: { threads: 2 } }, log })
  t.teardown(close)
  return { lines, executor }
}

let runs = 0
function run (executor: Executor, call: ReturnType<typeof callOf>, timeout_ms = 60_000): Promise<Outcome> {
  return executor.run(
    { execution_id: `run-${++runs}`, ...call, timeout_ms, config: {} },
    { started () {}, progress () {}, log () {} },
    new AbortController().signal
  )
}
const act = (kind: string): ReturnType<typeof callOf> =>
  callOf('script', { name: 'act' }, { kind }, { module: fixture('hostile'), name: 'hostile' })
const echo = (text: string): ReturnType<typeof callOf> =>
  callOf('script', { name: 'echo' }, { text }, { module: fixture('subject') })

/** The names of all that the hostile tools do. */
async function kindsOf (executor: Executor): Promise<string[]> {
  const { output } =
    await run(executor, callOf('script', { name: 'list' }, {}, { module: fixture('hostile'), name: 'hostile' }))
  return JSON.parse(output) as string[]
}

const isPatch = (kind: string): boolean => kind.startsWith('patched ')

/** What leaves the thread nothing to end the run with has only its time limit. */
const limit_ms = 1_500

t.test('whatever a tool does: its run ends, those beside it are unharmed, and others serve', async t => {
  const { executor, lines } = await open(t)
  for (const kind of (await kindsOf(executor)).filter(kind => !isPatch(kind))) {
    const [outcome, ...beside] = await Promise.all([
      run(executor, act(kind), limit_ms), run(executor, echo('a')), run(executor, echo('b'))
    ])
    t.match(outcome.status, /^(success|failed|timeout)$/, kind)
    t.same(beside.map(({ output }) => output), ['a', 'b'], `beside ${kind}`)
    t.match(await run(executor, echo('after')), { status: 'success', output: 'after' }, `after ${kind}`)
  }
  t.match(await run(executor, act('forged 0')), {
    status: 'failed',
    error: { message: /a tool can't send messages to the server/ }
  })
  t.match(await run(executor, act('board')), { status: 'success' })
  t.ok(lines.length < 2_000, `${lines.length} lines are logged, however many errors there were`)
})

t.test('whatever a tool does in a batch: those before it have their outcomes, and others serve', async t => {
  const { executor } = await open(t)
  const { skill, tool } = act('none')
  for (const kind of (await kindsOf(executor)).filter(kind => !isPatch(kind))) {
    while (!paceOf(tool).short) await run(executor, { skill, tool, parameters: { kind: 'none' } })
    const outcomes = await Promise.all(Array.from(
      { length: 8 },
      (_, i) => run(executor, { skill, tool, parameters: { kind: i === 3 ? kind : 'none' } }, limit_ms)
    ))
    t.match(outcomes[3]?.status, /^(success|failed|timeout)$/, kind)
    for (const [i, { status, output }] of outcomes.entries()) {
      if (i !== 3) t.same([status, output], ['success', 'none'], `${i} beside ${kind}`)
    }
    t.match(await run(executor, echo('after')), { status: 'success', output: 'after' }, `after ${kind}`)
  }
})

t.test('whatever a tool changes in its thread: every run has an outcome, and other threads serve', async t => {
  const { executor } = await open(t)
  for (const kind of (await kindsOf(executor)).filter(isPatch)) {
    const { executor } = await open(t)
    await run(executor, act('none'))
    for (let i = 0; i < 3; i++) {
      // What one skill changed in a thread the next may meet there: that is not promised against. That it comes to an
      // end is.
      for (const call of [act(kind), act('none'), echo('met')]) {
        t.match((await run(executor, call, limit_ms)).status, /^(success|failed|timeout)$/, kind)
      }
    }
  }
  t.match(await run(executor, echo('after')), { status: 'success', output: 'after' })
})

interface Said { by?: 'port' | 'parentPort' | 'piscina', message?: unknown, raw?: 'undefined' | 'map', times?: number }

/** Gives a thread a run in which it says all that. */
async function say (
  script: Said[],
  batch = false
): Promise<{ death: unknown, nonsense: string[], heard: FromThread[] }> {
  const nonsense: string[] = []
  const heard: FromThread[] = []
  const thread = new Thread({
    data: { output_bytes_max: textMax, memory_bytes_kept_max: 2 ** 30 }, heap_mib: 64, env: {}, nice: 0,
    entry: new URL('../fixtures/executor-worker/speaker.mjs', import.meta.url),
    onMessage (message) { heard.push(message) }, onStray () {}, onNonsense (what) { nonsense.push(what) }, onGone () {}
  })
  const given: Of<'run'> | Of<'batch'> = batch
    ? {
      type: 'batch', run: 10, tools: [], tool_of: [0, 0, 0], execution_ids: ['a', 'b', 'c'],
      parameters: JSON.stringify([{ script }])
    }
    : {
      type: 'run', run: 10, execution_id: 'a', module: '', revision: '', tool: '',
      parameters: { script } as unknown as JsonObject, config: {}, secrets: {}, sensitive: false, env: {}
    }
  await thread.ping()
  thread.board.deal(3)
  const death: unknown = await thread.execute(given).catch((error: unknown) => error)
  await thread.end()
  return { death, nonsense, heard }
}

const ended = { type: 'ended', run: 'own', result: { kind: 'output', text: 'x', bytes: 1 }, ran_ms: 1, thread: 'free' }

t.test('a thread that says what none may is ended at once, and its run with it', async t => {
  const bad: Said[] = [
    ...[
      null, 0, '', [], {}, { type: null }, { type: 'ready' }, { type: 'run' }, { type: 'toString' },
      { type: '__proto__' }, { type: 'pong' }
    ].map(message => ({ message })),
    { raw: 'undefined' }, { raw: 'map' },
    ...['loading', 'started', 'waiting', 'clean', 'told', 'progress', 'log', 'ended'].flatMap(type => [
      { message: { type } }, { message: { type, run: 9 } }, { message: { type, run: -1 } },
      { message: { type, run: 1e300 } }
    ]),
    { message: { type: 'log', run: 'own', level: 'fatal', text: '' } },
    { message: { type: 'log', run: 'own', level: 'info', text: 'x'.repeat(10_000) } },
    { message: { type: 'log', run: 'own', level: 'info', text: 'x' }, times: 1002 },
    { message: { type: 'progress', run: 'own', done: null } },
    { message: { type: 'progress', run: 'own', done: 1, total: 'x' } },
    { message: { type: 'progress', run: 'own', done: 1 }, times: 100_000 },
    { message: { type: 'loading', run: 'own' }, times: 2 }, { message: { type: 'started', run: 'own' }, times: 2 },
    { message: { type: 'waiting', run: 'own' }, times: 2 },
    { message: { type: 'told', run: 'own', result: { kind: 'output', text: '', bytes: 0 }, ran_ms: 0 } },
    { message: { type: 'stray', text: 5 } }, { message: { type: 'stray', text: 'x' }, times: 1000 },
    ...[
      { ran_ms: -1 }, { ran_ms: '1' }, { thread: 'busy' }, { run: 11 }, { result: null },
      { result: { kind: 'board' } }, { result: { kind: 'output', text: 5, bytes: 1 } }
    ].map(part => ({ message: { ...ended, ...part } })),
    ...[
      { kind: 'output', text: 'x'.repeat(textMax + 1), bytes: textMax + 1 },
      { kind: 'output', text: 'xx', bytes: 1 },
      { kind: 'failed', message: 5 },
      { kind: 'failed', message: '', name: {} }
    ].map(result => ({ message: { ...ended, result } })),
    ...[null, { type: 'ready' }, ended].map(message => ({ by: 'parentPort' as const, message })),
    ...[null, {}, { taskId: 0, result: null, error: null }, { taskId: 0, error: 'x' }]
      .map(message => ({ by: 'piscina' as const, message }))
  ]
  for (const said of bad) {
    const { death, nonsense } = await say(said.by === undefined ? [said, { message: ended }] : [said])
    t.match(death, { refused: true }, JSON.stringify(said).slice(0, 100))
    t.ok(death instanceof ThreadDeath)
    t.equal(nonsense.length, 1)
  }
})

t.test('what fits is heard: of a run alone, and of a batch', async t => {
  const progress = { type: 'progress', run: 'own', done: 1, total: undefined, message: 'half' }
  const alone = await say([
    { message: { type: 'loading', run: 'own' } }, { message: { type: 'started', run: 'own' } }, { message: progress },
    { message: { type: 'stray', text: 'x' } }, { message: ended }
  ])
  t.match(alone.death, { type: 'ended', run: 10, result: { text: 'x' } })
  t.same(alone.heard.map(({ type }) => type), ['loading', 'started', 'progress'])
  const batch = await say(
    [
      { message: { type: 'told', run: 12, result: { kind: 'failed', message: 'no' }, ran_ms: 1 } },
      { message: { type: 'waiting', run: 11 } },
      { message: { ...ended, result: { kind: 'board' } } }
    ],
    true
  )
  t.match(batch.death, { type: 'ended', result: { kind: 'board' } })
  t.same(batch.nonsense, [])
  t.match(
    (await say([{ message: { type: 'started', run: 'own' } }], true)).death,
    { refused: true },
    'no call of a batch says that it started'
  )
})

t.test('no value makes reading fail', t => {
  const value = fc.oneof(fc.anything(), fc.record({
    type: fc.constantFrom('ended', 'told', 'log', 'progress', 'stray', 'clean'),
    run: fc.anything(),
    result: fc.anything(),
    ran_ms: fc.anything(),
    text: fc.anything(),
    level: fc.anything()
  }))
  fc.assert(fc.property(value, value => { readFromThread(value, textMax) }))
  t.end()
})

t.test('whatever stands on a board: what is read of it is a result or nothing, and times are of this run', t => {
  const board = new Board()
  const bytes = new Uint8Array(board.memory)
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.nat(32 * slotsMax + 8), fc.uint8Array({ minLength: 1, maxLength: 8 })), { maxLength: 40 }),
    fc.nat(slotsMax - 1),
    (writes, slot) => {
      for (const [at, some] of writes) bytes.set(some.subarray(0, bytes.length - at), at)
      const claim = board.claim(slot)
      if (claim < 1 || claim > 6) throw new Error(`claim ${claim}`)
      const ago_ms = board.ago_ms(slot, 5)
      if (!(ago_ms >= 0 && ago_ms <= 5)) throw new Error(`ago ${ago_ms}`)
      const read = board.read(slot)
      if (
        read !== undefined && !(read.ran_ms >= 0 && Number.isFinite(read.ran_ms))
      ) throw new Error(`ran ${read.ran_ms}`)
    }
  ), { numRuns: 2_000 })
  t.end()
})
