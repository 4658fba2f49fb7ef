import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  definePlugin, execute, getExecution, type Execution, type Kernel, type LiveEvent, type TaskObserver
} from '../../../kernel/index.ts'
import { Journal, JournalBudget, journalLimits, timelineLimits } from '../../../kernel/executions/live/journal.ts'
import { skillSource, startKernel } from '../../support/kernel.ts'

const never = new AbortController().signal

/** A step of a tool. */
type Step =
  | { do: 'stdout' | 'stderr' | 'log', text: string }
  | { do: 'progress', done: number }
  | { do: 'turn' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom('stdout', 'stderr', 'log'), text: fc.string({ minLength: 1, unit: 'grapheme' })
  }),
  fc.record({ do: fc.constant('progress' as const), done: fc.nat() }),
  fc.record({ do: fc.constant('turn' as const) })
)

/** The steps of the run that comes next, what of its output comes only at the end, and what lets it go on. */
interface Plan { steps: readonly Step[], rest: string, turn: () => Promise<void> }
let plan: Plan

const player = definePlugin({
  name: 'player', slot: 'executor',
  setup: () => ({
    runtime: 'play',
    async run (_task, observer) {
      const { steps, rest, turn } = plan
      await turn()
      observer.started('none')
      let output = ''
      for (const one of steps) {
        if (one.do === 'turn') await turn()
        else output += play(one, observer)
      }
      return { status: 'success', output: output + rest, output_truncated: false }
    }
  })
})

function play (step: Exclude<Step, { do: 'turn' }>, observer: TaskObserver): string {
  switch (step.do) {
    case 'progress':
      observer.progress(step.done, undefined, undefined)
      return ''
    case 'log':
      observer.log('info', step.text)
      return ''
    case 'stderr':
      observer.output?.(step.text, 'stderr')
      return ''
    case 'stdout':
      observer.output?.(step.text)
      return step.text
  }
}

const tool = { name: 'go', description: 'Plays', parameters: [], input_schema: { type: 'object' }, secrets: [] }
const skill = {
  name: 'play', description: 'Plays', runtime: 'play',
  permissions: { network: false, write: [], env: [], secrets: [] }, directory: '/', revision: '1', trusted: true,
  tools: [tool]
}

async function open (): Promise<{ kernel: Kernel, close: () => Promise<void> }> {
  return await startKernel({ plugins: [player, skillSource({ skills: [skill], quarantined: [] }, 'plays')] })
}

/** Begins a run. @returns its id, and its end */
async function begin (kernel: Kernel, next: Plan): Promise<{ id: string, ended: Promise<unknown> }> {
  plan = next
  let ended: Promise<unknown> = Promise.resolve()
  const id = await new Promise<string>((resolve, reject) => {
    ended = kernel.gateway.invoke(
      execute, { skill_name: 'play', tool_name: 'go', parameters: {} },
      { transport: 'cli', signal: never, accepted: resolve }
    )
    ended.catch(reject)
  })
  return { id, ended }
}

/**
 * Reads all events of an execution by connections that end after so many batches, each beginning behind the event that
 * the one before had last. In a batch, only the first so many events arrive.
 */
async function readBy (
  kernel: Kernel, id: string, cuts: readonly { batches: number, last: number }[]
): Promise<LiveEvent[]> {
  const events: LiveEvent[] = []
  for (let n = 0; events.at(-1)?.type !== 'end'; n++) {
    const cut = cuts[n % Math.max(1, cuts.length)] ?? { batches: 1_000, last: 1_000 }
    const reader = await kernel.gateway.live({}).follow(id, events.at(-1)?.id, never)
    for (let batch = 1; ; batch++) {
      const { done, value } = await reader.next()
      if (done === true) break
      const isLast = batch >= cut.batches
      events.push(...isLast ? value.slice(0, Math.max(1, cut.last)) : value)
      if (isLast) break
    }
    await reader.return()
  }
  return events
}

/** The texts of a stream, joined. */
function textOf (events: readonly LiveEvent[], type: 'stdout' | 'stderr'): string {
  return events.map(event => event.type === type ? event.text : '').join('')
}

function checkAll (t: Test, events: readonly LiveEvent[], steps: readonly Step[], execution: Execution): void {
  const texts = (type: Step['do']): string[] =>
    steps.flatMap(step => step.do === type && 'text' in step ? step.text : [])
  const reports = events.flatMap(event => event.type === 'progress' ? event.done : [])
  const states = events.flatMap(event => event.type === 'transition' ? event.status : [])
  t.equal(textOf(events, 'stdout'), execution.output)
  t.equal(textOf(events, 'stderr'), texts('stderr').join(''))
  t.same(events.flatMap(event => event.type === 'log' ? event.text : []), texts('log'))
  t.same(reports, steps.flatMap(step => step.do === 'progress' ? step.done : []))
  t.same(states, execution.transitions.map(({ status }) => status))
  t.same(events.filter(({ type }) => type === 'missed' || type === 'notice'), [])
  t.equal(events.filter(({ type }) => type === 'end').length, 1)
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no event comes twice')
}

const cuts = fc.array(
  fc.record({ batches: fc.integer({ min: 1, max: 3 }), last: fc.integer({ min: 1, max: 5 }) }), { maxLength: 5 }
)

t.test('readers that reconnect receive everything once and in order, while an execution runs and afterwards', async t => {
  const { kernel, close } = await open()
  t.teardown(close)
  await fc.assert(fc.asyncProperty(
    fc.array(step, { maxLength: 40 }), fc.string(), fc.array(cuts, { minLength: 1, maxLength: 4 }),
    async (steps, rest, readers) => {
      const turn = (): Promise<void> => new Promise(resolve => { setImmediate(resolve) })
      const { id, ended } = await begin(kernel, { steps, rest, turn })
      const live = await Promise.all(readers.map(cuts => readBy(kernel, id, cuts)))
      await ended
      const execution = await kernel.gateway.invoke(getExecution, { id }, { transport: 'cli', signal: never })
      for (const events of live) checkAll(t, events, steps, execution)
      for (const cuts of readers) checkAll(t, await readBy(kernel, id, cuts), steps, execution)
    }
  ), { numRuns: 60 })
})

t.test('a reader that goes on after the end, from where it was in the middle, receives the rest from the record', async t => {
  const { kernel, close } = await open()
  t.teardown(close)
  let release = (): void => {}
  let turns = 0
  const turn = (): Promise<void> => turns++ === 0 ? Promise.resolve() : new Promise(resolve => { release = resolve })
  const steps: Step[] = [
    { do: 'stdout', text: 'one ' }, { do: 'stderr', text: 'E1' }, { do: 'turn' },
    { do: 'stdout', text: 'two ' }, { do: 'stderr', text: 'E2' }, { do: 'log', text: 'line' }
  ]
  const { id, ended } = await begin(kernel, { steps, rest: 'three', turn })
  const reader = await kernel.gateway.live({}).follow(id, undefined, never)
  const before: LiveEvent[] = []
  while (textOf(before, 'stderr') !== 'E1') before.push(...(await reader.next()).value ?? [])
  await reader.return()
  release()
  await ended
  const after: LiveEvent[] = []
  for await (const events of await kernel.gateway.live({}).follow(id, before.at(-1)?.id, never)) after.push(...events)
  const execution = await kernel.gateway.invoke(getExecution, { id }, { transport: 'cli', signal: never })
  checkAll(t, [...before, ...after], steps, execution)
  t.equal(textOf(after, 'stdout'), 'two three')
  const last = await kernel.gateway.live({}).follow(id, after.at(-1)?.id, never)
  t.equal((await last.next()).done, true, 'nothing follows the end')
})

t.test('an id of an event of another execution, or of none, is refused', async t => {
  const { kernel, close } = await open()
  t.teardown(close)
  const plan = { steps: [], rest: 'x', turn: async () => {} }
  const [one, two] = [await begin(kernel, plan), await begin(kernel, plan)]
  await Promise.all([one.ended, two.ended])
  const live = kernel.gateway.live({})
  const { value } = await (await live.follow(one.id, undefined, never)).next()
  const [event] = value ?? []
  for (const id of [event?.id, 'nobody', '', '..', `${two.id.slice(-12)}.1.2.3`, 'x'.repeat(10_000)]) {
    await t.rejects(live.follow(two.id, id ?? '', never), { code: 'INVALID_PARAMETERS' })
  }
  await t.rejects(live.follow('nobody', undefined, never), { code: 'EXECUTION_NOT_FOUND' })
  t.throws(() => live.watch({}, 'nobody', never), { code: 'INVALID_PARAMETERS' })
})

t.test('watchers of a skill receive the events of its executions, and go on after a reconnection', async t => {
  const { kernel, close } = await open()
  t.teardown(close)
  const live = kernel.gateway.live({})
  const leave = new AbortController()
  const reader = live.watch({ skill_name: 'play' }, undefined, leave.signal)
  const other = live.watch({ skill_name: 'another' }, undefined, leave.signal)
  const first = reader.next()
  const nothing = other.next()
  const turn = (): Promise<void> => new Promise(resolve => { setImmediate(resolve) })
  const steps: Step[] = [{ do: 'stdout', text: 'a' }, { do: 'turn' }, { do: 'log', text: 'b' }]
  const run = await begin(kernel, { steps, rest: 'c', turn })
  const events: LiveEvent[] = [...(await first).value ?? []]
  await run.ended
  await reader.return()
  const missed = await begin(kernel, { steps, rest: 'd', turn })
  await missed.ended
  const again = live.watch({ skill_name: 'play' }, events.at(-1)?.id, leave.signal)
  while (events.filter(({ type }) => type === 'end').length < 2) events.push(...(await again.next()).value ?? [])
  for (const { id } of [run, missed]) {
    const execution = await kernel.gateway.invoke(getExecution, { id }, { transport: 'cli', signal: never })
    checkAll(t, events.filter(event => event.execution_id === id), steps, execution)
  }
  leave.abort()
  t.equal((await nothing).done, true, 'a watcher of another skill receives nothing')
  const late = live.watch({ skill_name: 'play' }, `feed-${'0'.repeat(16)}-5`, never)
  t.match((await late.next()).value, [{ type: 'notice', text: /not kept any more/ }])
  await late.return()
})

t.test('a journal keeps its newest part, and tells what a reader missed', async t => {
  const budget = new JournalBudget()
  const journal = new Journal(budget)
  for (let n = 0; n < 2 * journalLimits.entries; n++) journal.add('log', n, 2, { text: `line ${n}` })
  t.equal(journal.end - journal.first, journalLimits.entries)
  t.match(journal.at(journal.first), { entry: { from: journalLimits.entries, text: `line ${journalLimits.entries}` } })
  const timeline = journal.timeline() ?? []
  t.equal(timeline.length, timelineLimits.entries)
  t.match(timeline.at(-1), { text: `line ${2 * journalLimits.entries - 1}` })
  for (let n = 0; n < 100; n++) journal.add('stderr', n * 1_000, 2, { text: 'x'.repeat(60_000) })
  t.ok(budget.characters <= journalLimits.characters, `${budget.characters}`)
  journal.close()
  t.equal(budget.characters, 0)
  t.same(journal.timeline(), undefined)
})

t.test('a reader of a journal that dropped its beginning is told so', async t => {
  const { kernel, close } = await open()
  t.teardown(close)
  const lines = 2 * journalLimits.entries
  const steps = Array.from({ length: lines }, (_, n): Step => ({ do: 'log', text: `line ${n}` }))
  let release = (): void => {}
  let turns = 0
  const turn = (): Promise<void> => turns++ === 0 ? Promise.resolve() : new Promise(resolve => { release = resolve })
  const { id, ended } = await begin(kernel, { steps: [...steps, { do: 'turn' }], rest: '', turn })
  const reader = await kernel.gateway.live({}).follow(id, undefined, never)
  const events: LiveEvent[] = []
  while (!events.some(event => event.type === 'log' && event.text === `line ${lines - 1}`)) {
    events.push(...(await reader.next()).value ?? [])
  }
  t.match(events.find(({ type }) => type === 'missed'), { missed: { log: journalLimits.entries } })
  t.equal(events.filter(({ type }) => type === 'log').length, journalLimits.entries)
  release()
  await ended
  await reader.return()
})
