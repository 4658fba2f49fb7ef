import type { JSONRPCMessage, ServerContext } from '@modelcontextprotocol/server'
import fc from 'fast-check'
import t from 'tap'
import { Bus, silentLogger } from '../../../kernel/index.ts'
import { cut } from '../../../plugins/mcp/agent/excerpt.ts'
import { RecentEvents, ByteBudget } from '../../../plugins/mcp/transports/events.ts'
import { StreamPlaces } from '../../../plugins/mcp/transports/places.ts'
import { Reports } from '../../../plugins/mcp/server/reports.ts'
import { boundUnread, unreadBytesMax } from '../../../plugins/mcp/transports/unread.ts'
import { until } from '../../../plugins/testing/until.ts'

t.test('a cut keeps to its length, and both ends are what they were', async () => {
  const unit = fc.string({ unit: 'binary', maxLength: 1_500 })
  fc.assert(fc.property(
    unit,
    fc.integer({ min: 200, max: 1_000 }),
    fc.constantFrom('head', 'tail', 'middle'),
    (text, max, part) => {
      const out = cut(text, max, part)
      if (text.length <= max) return out === text
      const [before = '', left = '', after = ''] = out.split(/\n?\[… (\d+) characters left out …\]\n?/)
      return out.length <= max && out.isWellFormed() === text.isWellFormed() && text.startsWith(before)
        && text.endsWith(after)
        && before.length + Number(left) + after.length === text.length && (part === 'tail') === (before === '')
        && (part === 'head') === (after === '')
    }
  ), { numRuns: 200, examples: [['😀'.repeat(600), 201, 'middle']] })
})

t.test('kept events are those of a model, within their room', async () => {
  const message = (n: number): JSONRPCMessage => ({ jsonrpc: '2.0', method: 'x', params: { n } })
  await fc.assert(fc.asyncProperty(
    fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.boolean()), { maxLength: 60 }),
    fc.integer({ min: 0, max: 10_000 }),
    async (steps, bytes) => {
      const room = new ByteBudget(bytes)
      const events = [new RecentEvents(room), new RecentEvents(room)] as const
      const sent: { id: string, stream: string, n: number, of: number }[] = []
      for (const [n, [stream, first]] of steps.entries()) {
        const of = first ? 0 : 1
        sent.push({ id: await events[of].storeEvent(stream, message(n)), stream, n, of })
      }
      for (const one of sent) {
        const store = events[one.of] ?? events[0]
        if (await store.getStreamIdForEventId(one.id) === undefined) continue // it had to make room
        const replayed: unknown[] = []
        if (
          await store.replayEventsAfter(one.id, { send: async (_id, found) => { replayed.push(found) } }) !== one.stream
        ) {
          return false
        }
        const expected = sent.filter(({ stream, of, n }) => stream === one.stream && of === one.of && n > one.n)
          .map(({ n }) => message(n))
        // Only the newest are certain to be there, and what is there follows without a gap.
        if (
          JSON.stringify(replayed) !== JSON.stringify(expected.slice(expected.length - replayed.length))
          || replayed.length < expected.length
        ) {
          return false
        }
      }
      for (const store of events) store.clear()
      return room.take(bytes) // all of it was given back
    }
  ), { numRuns: 100 })
})

t.test('progress only increases, is heard while a tool is silent, and is bounded', async t => {
  const bus = new Bus(silentLogger)
  const client = () => {
    const told: { method: string, params: Record<string, unknown> }[] = []
    const lines: unknown[] = []
    const ctx = {
      mcpReq: {
        _meta: { progressToken: 'p' },
        notify: async (message: typeof told[number]) => { told.push(message) },
        log: async (_level: string, text: unknown) => { lines.push(text) }
      }
    } as unknown as ServerContext
    return { told, lines, ctx }
  }
  const { told, lines, ctx } = client()
  const reports = new Reports(bus, 5)
  const report = reports.begin(ctx, 'test')
  await until(() => told.length >= 3) // heartbeats alone
  report.follow('one')
  for (let i = 0; i < 10_000; i++) {
    bus.emit('progress', { execution_id: 'one', done: i % 100, total: 100, message: undefined })
    bus.emit('progress', { execution_id: 'other', done: 1e9, total: undefined, message: undefined })
    bus.emit('log', { execution_id: 'one', level: 'info', text: String(i) })
  }
  bus.emit('progress', { execution_id: 'one', done: Number.NaN, total: 100, message: 'last' })
  let turned = false
  setImmediate(() => { turned = true })
  await report.end()
  t.ok(turned, 'the answer does not go out in the turn of the last progress')
  const values = told.map(({ params }) => Number(params['progress']))
  t.ok(values.every((value, i) => i === 0 || value > (values[i - 1] ?? 0)), 'it increases')
  t.ok(values.every(value => value < 101), 'others\' is not told')
  t.equal(told.at(-1)?.params['message'], 'last', 'the newest is told before the end')
  t.ok(told.length < 200, `${told.length} notifications`)
  t.ok(lines.length < 2_100 && /more lines were left out/.test(String(lines.at(-1))))
  const before = told.length
  bus.emit('progress', { execution_id: 'one', done: 1000, total: 100, message: undefined })
  // What another call says in its turn, which began later, comes after all that this one could still say.
  const other = client()
  const next = reports.begin(other.ctx, 'test')
  next.follow('two')
  for (let i = 1; i <= 100; i++) {
    bus.emit('progress', { execution_id: 'two', done: i, total: 100, message: `${i} of 100` })
  }
  await until(() => other.told.some(({ params }) => params['message'] === '100 of 100'))
  await next.end()
  t.equal(told.length, before, 'nothing follows the end')
  reports.close()
})

t.test('a stream fails when too much of it is left unread, and not before', async t => {
  const of = (
    write: (controller: ReadableStreamDefaultController<Uint8Array>) => void,
    cancel?: () => void
  ): Response =>
    new Response(new ReadableStream<Uint8Array>({ start: write, ...(cancel !== undefined && { cancel }) }), {
      headers: { 'content-type': 'text/event-stream' }
    })
  const piece = new Uint8Array(1_048_576)
  const pieces = unreadBytesMax / piece.length
  let ended = 0
  let cancelled = false
  const fits = boundUnread(of(controller => {
    for (let i = 0; i < pieces; i++) controller.enqueue(piece)
    controller.close()
  }), () => { ended++ })
  t.equal((await fits.arrayBuffer()).byteLength, unreadBytesMax)
  t.equal(ended, 1)
  const tooMuch = boundUnread(
    of(controller => { for (let i = 0; i <= pieces; i++) controller.enqueue(piece) }, () => { cancelled = true }),
    () => { ended++ }
  )
  await until(() => ended === 2)
  await t.rejects(tooMuch.arrayBuffer(), /unread/)
  t.ok(cancelled, 'whoever writes to it hears of it')
  const large = new Uint8Array(2 * unreadBytesMax)
  t.equal((await boundUnread(of(controller => {
    controller.enqueue(large)
    controller.close()
  })).arrayBuffer()).byteLength, large.length, 'a message that is longer is one')
})

t.test('places are counted by caller, and given back once', async t => {
  const places = new StreamPlaces()
  const taken = Array.from({ length: 200 }, () => places.take('one'))
  t.throws(() => places.take('one'), { code: 'OVERLOADED', message: /as many as one caller may have/ })
  const others = Array.from({ length: 800 }, (_, i) => places.take(`caller ${i % 10}`))
  t.throws(() => places.take('another'), { code: 'OVERLOADED', message: /1000 streams are in use/ })
  taken[0]?.()
  taken[0]?.()
  places.take('another')
  t.throws(() => places.take('another'), { code: 'OVERLOADED' })
  for (const leave of [...taken, ...others]) leave()
  t.equal(Array.from({ length: 200 }, () => places.take('one')).length, 200)
})
