import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  outputBytesStop, outputOf, type Executor, type Isolation, type JsonObject, type LogLevel, type Outcome,
  type SkillDefinition, type ToolDefinition
} from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { until } from './until.ts'

/** What an executor is asked to run. */
export interface Call { skill: SkillDefinition, tool: ToolDefinition, parameters: JsonObject }

/** An executor under test, and how it is closed. `close` resolves when everything it held is released. */
export interface OpenedExecutor { executor: Executor, close (): Promise<void> }

/**
 * What the suite needs to know of an executor. A call is undefined where the executor can't do it: that case is then
 * skipped.
 */
export interface ExecutorHarness {
  /** Opens one, with these values in its configuration (the rest has its defaults). */
  open (config: JsonObject): Promise<OpenedExecutor>
  /** What its runs report. */
  isolation: Isolation
  calls: {
    /** Succeeds; its output is exactly the text. */
    echo (text: string): Call | undefined
    /** Fails; the outcome's message holds this one. */
    fail (message: string): Call | undefined
    /** Succeeds with the output `slept`, after so long. */
    sleep (ms: number): Call | undefined
    /** Never ends by itself. */
    hang (): Call | undefined
    /** Succeeds; its output is so many times the letter x. */
    output (bytes: number): Call | undefined
    /** Appends the text to the file in one write, and succeeds. Tells how often a tool really ran. */
    append (file: string, text: string): Call | undefined
  }
  /** A configuration in which no more than `limit` of these calls, which never end by themselves, run at once. */
  concurrency: { config: JsonObject, limit: number, hang: Call } | undefined
}

/** A run, and what was observed of it. */
interface Run {
  outcome: Promise<Outcome>
  started: Isolation[]
  /** In the order of their coming. */
  events: string[]
  /** performance.now() */
  started_ms: number | undefined
  /** What was told of its output while it ran. */
  output: string
  abort: AbortController
}

/** Long enough that only a hang reaches it. */
const generous_ms = 60_000

let runs = 0

/** Begins a run. */
function begin (executor: Executor, call: Call, timeout_ms = generous_ms, abort = new AbortController()): Run {
  const run: Run = {
    outcome: Promise.reject(new Error('not begun')), started: [], events: [], started_ms: undefined, output: '', abort
  }
  run.outcome.catch(() => {})
  const observer = {
    started (isolation: Isolation): void {
      run.started.push(isolation)
      run.events.push('started')
      run.started_ms = performance.now()
    },
    progress (): void { run.events.push('progress') },
    log (_level: LogLevel, _text: string): void { run.events.push('log') },
    output (text: string, stream = 'stdout'): void { if (stream === 'stdout') run.output += text }
  }
  const task = { execution_id: `run-${++runs}`, ...call, timeout_ms, config: {} }
  run.outcome = executor.run(task, observer, abort.signal).then(outcome => {
    if (!outcome.output.startsWith(run.output)) {
      throw new Error('what was told of the output is not the beginning of it')
    }
    return outcome
  }).finally(() => { run.events.push('ended') })
  return run
}

/** Runs a test with an executor of its own, which is closed whatever happens. */
function using (
  harness: ExecutorHarness,
  config: JsonObject,
  test: (t: TestContext, executor: Executor) => Promise<void>
): (t: TestContext) => Promise<void> {
  return async t => {
    const opened = await harness.open(config)
    try {
      await test(t, opened.executor)
    } finally {
      await opened.close()
    }
  }
}

type Maybe = Record<string, Call | ExecutorHarness['concurrency']>
type All<C extends Maybe> = C & { [K in keyof C]: Exclude<C[K], undefined> }

/** Runs a test of the suite, or skips it when the executor has no call for it. */
async function when<C extends Maybe> (
  t: TestContext, name: string, calls: C, test: (calls: All<C>) => (t: TestContext) => Promise<void>
): Promise<void> {
  if (isWhole(calls)) {
    await t.test(name, test(calls))
  } else {
    await t.test(name, () => {}, { skip: `the executor has no ${Object.keys(calls).filter(key => calls[key] === undefined).join(', ')}` })
  }
}

function isWhole<C extends Maybe> (calls: C): calls is All<C> {
  return Object.values(calls).every(call => call !== undefined)
}

/** What every executor must do. */
export async function testExecutor (t: TestContext, harness: ExecutorHarness): Promise<void> {
  await testOutcomes(t, harness)
  await testLimits(t, harness)
  await testAborts(t, harness)
  await testConcurrency(t, harness)
  await testCrowd(t, harness)
}

async function testOutcomes (t: TestContext, harness: ExecutorHarness): Promise<void> {
  const { calls } = harness
  const texts = {
    'plain text': 'plain',
    'an empty one': '',
    'text beyond ASCII': '\ufeffünïcødé 漢字 🙂 e\u0301\u2028',
    'white space around': ' \t around \n\n',
    'what shells and formatters read': '%s $HOME `id` "\'\\ {"a":[1,"\\u0000"]}'
  }
  for (const [kind, text] of Object.entries(texts)) {
    await when(t, `success: the output is exact: ${kind}`, {
      echo: calls.echo(text)
    }, ({ echo }) => using(harness, {}, async (t, executor) => {
      const run = begin(executor, echo)
      t.same(await run.outcome, { status: 'success', output: text, output_truncated: false })
      t.same(run.started, [harness.isolation], 'started once, in its isolation')
      t.equal(run.events[0], 'started', 'before it ended')
    }))
  }
  await when(t, 'failure: an outcome with the message, and the next run is unharmed', {
    fail: calls.fail('broken beyond repair'),
    echo: calls.echo('well')
  }, ({ fail, echo }) =>
    using(harness, {}, async (t, executor) => {
      const run = begin(executor, fail)
      const outcome = await run.outcome
      t.equal(outcome.status, 'failed')
      if (outcome.status === 'failed') t.match(outcome.error.message, /broken beyond repair/)
      t.equal(run.started.length, 1)
      t.match(await begin(executor, echo).outcome, { status: 'success', output: 'well' })
    }))
}

async function testLimits (t: TestContext, harness: ExecutorHarness): Promise<void> {
  const { calls } = harness
  await when(t, 'timeout: a run past its limit ends as timeout, no earlier, and the next run is unharmed', {
    hang: calls.hang(),
    echo: calls.echo('well')
  }, ({ hang, echo }) =>
    using(harness, {}, async (t, executor) => {
      const run = begin(executor, hang, 200)
      t.equal((await run.outcome).status, 'timeout')
      t.equal(run.started.length, 1)
      // Timers may fire a millisecond early by the clock of performance.now.
      t.ok(performance.now() - (run.started_ms ?? Infinity) >= 198, 'not before its limit, counted from started')
      t.match(await begin(executor, echo).outcome, { status: 'success', output: 'well' })
    }))
  await when(t, 'timeout: waiting in the queue does not count', {
    limit: harness.concurrency,
    sleep: calls.sleep(10)
  }, ({ limit, sleep }) =>
    using(harness, limit.config, async (t, executor) => {
      const holders = Array.from({ length: limit.limit }, () => begin(executor, limit.hang))
      await until(() => holders.every(run => run.started.length === 1))
      const queued = begin(executor, sleep, 2000)
      await new Promise(resolve => setTimeout(resolve, 2100))
      t.same(queued.events, [], 'still queued, after longer than its limit')
      for (const holder of holders) holder.abort.abort()
      t.match(await queued.outcome, { status: 'success', output: 'slept' })
      await Promise.all(holders.map(run => run.outcome))
    }))
  await when(t, 'output past what is kept is cut, with a note', {
    output: calls.output(5000), fits: calls.output(2048), wide: calls.echo('€'.repeat(1500))
  }, ({ output, fits, wide }) =>
    using(harness, { execution: { output_bytes_max: 2048, output_file_bytes_max: 0 } }, async (t, executor) => {
      t.same(await begin(executor, output).outcome, { status: 'success', ...outputOf('x'.repeat(5000), 2048) })
      t.same(await begin(executor, fits).outcome, {
        status: 'success', output: 'x'.repeat(2048), output_truncated: false
      })
      t.same(
        await begin(executor, wide).outcome,
        { status: 'success', ...outputOf('€'.repeat(1500), 2048) },
        'cut between characters'
      )
    }))
  await when(t, 'output past 16 MiB stops the tool: failed, with what was kept', {
    output: calls.output(outputBytesStop + 1_048_576),
    most: calls.output(1_048_576)
  }, ({ output, most }) =>
    using(harness, { execution: { output_file_bytes_max: 0 } }, async (t, executor) => {
      const outcome = await begin(executor, output).outcome
      t.equal(outcome.status, 'failed')
      t.equal(outcome.output_truncated, true)
      t.ok(
        outcome.output.startsWith('x'.repeat(1_048_576)) && outcome.output.length < 1_048_700,
        'what was kept, and a note'
      )
      if (outcome.status === 'failed') t.match(outcome.error.message, /16 MiB/)
      const whole = await begin(executor, most).outcome
      t.ok(whole.output === 'x'.repeat(1_048_576) && !whole.output_truncated, 'exactly the limit is kept whole')
    }))
}

async function testAborts (t: TestContext, harness: ExecutorHarness): Promise<void> {
  const { calls } = harness
  await when(t, 'abort before run: cancelled, and never started', {
    echo: calls.echo('never')
  }, ({ echo }) => using(harness, {}, async (t, executor) => {
    const run = begin(executor, echo, generous_ms, aborted())
    t.match(await run.outcome, { status: 'cancelled' })
    t.same(run.started, [])
  }))
  await when(t, 'abort while running: cancelled, and the next run is unharmed', {
    hang: calls.hang(),
    echo: calls.echo('well')
  }, ({ hang, echo }) =>
    using(harness, {}, async (t, executor) => {
      const run = begin(executor, hang)
      await until(() => run.started.length === 1)
      run.abort.abort()
      t.match(await run.outcome, { status: 'cancelled' })
      t.match(await begin(executor, echo).outcome, { status: 'success', output: 'well' })
    }))
  await when(t, 'abort at once after run: settles as cancelled', {
    hang: calls.hang()
  }, ({ hang }) => using(harness, {}, async (t, executor) => {
    const run = begin(executor, hang)
    run.abort.abort()
    t.match(await run.outcome, { status: 'cancelled' })
  }))
  await when(t, 'abort after the end is harmless', {
    echo: calls.echo('well')
  }, ({ echo }) => using(harness, {}, async (t, executor) => {
    const run = begin(executor, echo)
    t.match(await run.outcome, { status: 'success', output: 'well' })
    run.abort.abort()
    t.match(await begin(executor, echo).outcome, { status: 'success', output: 'well' })
    t.same(run.events, ['started', 'ended'])
  }))
  await when(t, 'closing while runs are active settles them all', {
    hang: calls.hang(),
    echo: calls.echo('late')
  }, ({ hang, echo }) => async t => {
    const { executor, close } = await harness.open(harness.concurrency?.config ?? {})
    const active = Array.from({ length: 6 }, () => begin(executor, hang))
    await until(() => active.some(run => run.started.length === 1))
    await close()
    for (const run of active) {
      const { status } = await run.outcome
      t.ok(status === 'cancelled' || status === 'failed', `settled as ${status}`)
      t.equal(run.events.filter(event => event === 'ended').length, 1)
    }
    const late = begin(executor, echo)
    await t.rejects(late.outcome, { code: 'OVERLOADED' }, 'a closed executor runs nothing')
    t.same(late.started, [])
  })
  await when(t, 'one that is closed before its first run refuses it, too', {
    echo: calls.echo('never')
  }, ({ echo }) => async t => {
    const { executor, close } = await harness.open({})
    await close()
    await t.rejects(begin(executor, echo).outcome, { code: 'OVERLOADED' })
  })
}

async function testConcurrency (t: TestContext, harness: ExecutorHarness): Promise<void> {
  await when(t, 'a probe is answered by an idle executor and by one that is as busy as it may be, and by a closed one never', {
    concurrency: harness.concurrency
  }, ({ concurrency: { config, limit, hang } }) => async t => {
    const opened = await harness.open(config)
    const { executor } = opened
    if (executor.probe === undefined) return await opened.close() // it need not have one
    await executor.probe()
    const runs = Array.from({ length: limit + 1 }, () => begin(executor, hang))
    await until(() => runs.filter(({ started }) => started.length > 0).length === limit)
    await executor.probe()
    for (const { abort } of runs) abort.abort()
    for (const { outcome } of runs) t.match(await outcome, { status: 'cancelled' })
    await executor.probe()
    await opened.close()
    await t.rejects(executor.probe())
  })
  await when(t, 'no more than the limit runs at once; what is queued starts as others end, or never when it is aborted', {
    limit: harness.concurrency
  }, ({ limit: { config, limit, hang } }) =>
    using(harness, config, async (t, executor) => {
      const all = Array.from({ length: limit + 3 }, () => begin(executor, hang))
      const dropped = all[limit]
      const kept = all.filter(run => run !== dropped)
      const ends_ms: number[] = []
      const end = async (run: Run | undefined): Promise<void> => {
        ends_ms.push(performance.now())
        run?.abort.abort()
        t.match(await run?.outcome, { status: 'cancelled' })
      }
      await until(() => kept.slice(0, limit).every(run => run.started.length === 1)) // first come, first served
      dropped?.abort.abort()
      t.match(await dropped?.outcome, { status: 'cancelled', output: '' }, 'aborted in the queue')
      // Each run hangs until it is ended here, and each that ends lets the next begin: a run too many shows by its
      // time.
      for (const [i, run] of kept.entries()) {
        await end(run)
        await until(() => (kept[i + limit] ?? run).started.length === 1)
      }
      const starts_ms = kept.map(({ started_ms }) => started_ms ?? Number.NaN)
      const running = (now_ms: number): number =>
        starts_ms.filter(start_ms => start_ms <= now_ms).length - ends_ms.filter(end_ms => end_ms <= now_ms).length
      t.same(starts_ms.filter(start_ms => !(running(start_ms) <= limit)), [], 'never more than the limit at once')
      t.same(dropped?.started, [], 'what was aborted in the queue never began')
    }))
}

/** 200 runs of every kind at once: each gets its own outcome, and none runs twice. */
async function testCrowd (t: TestContext, harness: ExecutorHarness): Promise<void> {
  const { calls } = harness
  const folder = await mkdtemp(join(tmpdir(), 'skillet-executor-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'marks')
  await writeFile(file, '')
  await when(t, '200 mixed runs at once: each its own outcome and output, none twice', {
    echo: calls.echo('a'), fail: calls.fail('b'), sleep: calls.sleep(1), hang: calls.hang(),
    append: calls.append(file, 'c')
  }, ({ sleep, hang }) => using(harness, {}, async (t, executor) => {
    const expected = new Set<string>()
    const crowd = Array.from({ length: 200 }, async (_, i) => {
      const text = `run ${i} é`
      switch (i % 10) {
        case 0: case 1: case 2:
          return sameOutcome(t, i, begin(executor, some(calls.echo(text))), { status: 'success', output: text })
        case 3: case 4: return sameOutcome(t, i, begin(executor, some(calls.fail(text))), {
          status: 'failed',
          error: { message: new RegExp(text) }
        })
        case 5: return sameOutcome(t, i, begin(executor, sleep), { status: 'success', output: 'slept' })
        case 6: return sameOutcome(t, i, begin(executor, hang, 30), { status: 'timeout' })
        case 7: {
          const run = begin(executor, hang)
          setTimeout(() => { run.abort.abort() }, i)
          return sameOutcome(t, i, run, { status: 'cancelled' })
        }
        default:
          expected.add(`${i}`)
          return sameOutcome(t, i, begin(executor, some(calls.append(file, `${i}\n`))), { status: 'success' })
      }
    })
    await Promise.all(crowd)
    const marks = await readLines(file)
    t.same(marks.toSorted(), [...expected].toSorted(), 'each ran once')
  }))
}

async function sameOutcome (t: TestContext, index: number, run: Run, pattern: object): Promise<void> {
  const outcome = await run.outcome
  t.match(outcome, pattern, `run ${index}`)
  if (outcome.status !== 'cancelled') t.equal(run.started.length, 1, `run ${index} started once`)
  else t.ok(run.started.length <= 1, `run ${index} started at most once`)
}

async function readLines (file: string): Promise<string[]> {
  return (await readFile(file, 'utf8')).split('\n').filter(line => line !== '')
}

function some (call: Call | undefined): Call {
  if (call === undefined) throw new Error('the harness has this call for one text and not for another')
  return call
}

function aborted (): AbortController {
  const controller = new AbortController()
  controller.abort()
  return controller
}
