import fc from 'fast-check'
import t from 'tap'
import { startBundled } from '../support/bundled.ts'

const { call, json, close } = await startBundled()
t.teardown(close)

const parse = async (time: string, more = {}): Promise<string> =>
  (await json('time', 'parse', { time, ...more }) as { iso: string }).iso

t.test('parse: every form, and what is none', async t => {
  for (const [text, iso, more] of [
    ['2026-03-29T12:00', '2026-03-29T12:00:00.000Z'], ['20260329', '2026-03-29T00:00:00.000Z'],
    ['2026-W13-7', '2026-03-29T00:00:00.000Z'],
    ['2026-03-29T12:00+02:00', '2026-03-29T12:00:00.000+02:00'], ['2026-03-29 12:00:00', '2026-03-29T12:00:00.000Z'],
    ['Sun, 29 Mar 2026 12:00:00 +0200', '2026-03-29T12:00:00.000+02:00'],
    ['Sun, 29 Mar 2026 12:00:00 GMT', '2026-03-29T12:00:00.000Z'],
    ['1774785600', '2026-03-29T12:00:00.000Z'], ['1774785600123', '2026-03-29T12:00:00.123Z'],
    ['-1774785600', '1913-10-05T12:00:00.000Z'],
    ['29.03.2026', '2026-03-29T00:00:00.000+01:00', { format: 'dd.MM.yyyy', zone: 'Europe/Berlin' }],
    ['2026-03-29T02:30', '2026-03-29T03:30:00.000+02:00', { zone: 'Europe/Berlin' }],
    ['2026-06-01T00:00', '2026-06-01T00:00:00.000+05:30', { zone: '+05:30' }]
  ] as const) t.equal(await parse(text, more), iso, text)
  t.match(await json('time', 'parse', { time: '2026-01-01' }), {
    weekday: 'Thursday', week: '2026-W01', day_of_year: 1, unix: 1767225600, offset: '+00:00', daylight_saving: false
  })
  for (const [time, more, message] of [
    ['2026-02-30', {}, /"2026-02-30" is no date or time: .*day/], ['soon', {}, /`format` can say how/],
    ['29/03', { format: 'dd.MM' }, /is no date or time/],
    ['2026-01-01', { zone: 'Mars/Base' }, /"Mars\/Base" is no time zone/]
  ] as const) await t.rejects(parse(time, more), { code: 'TOOL_EXECUTION_FAILED', message }, time)
})

t.test('a time that is converted and parsed again is the same time', async () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Apia', '+03:30']
  await fc.assert(fc.asyncProperty(
    fc.date({ min: new Date('1975-01-01'), max: new Date('2099-01-01'), noInvalidDate: true }),
    fc.constantFrom(...zones),
    async (date, zone) => {
      const [there] = await json('time', 'convert', { time: date.toISOString(), to: [zone] }) as [
        { iso: string, unix_ms: number }
      ]
      if (there.unix_ms !== date.getTime() || Date.parse(await parse(there.iso)) !== date.getTime()) {
        throw new Error(`${date.toISOString()} became ${there.iso}`)
      }
    }
  ), { numRuns: 60 })
})

t.test('now, format, convert and add', async t => {
  const before = Date.now()
  const [utc, tokyo] = await json('time', 'now', {
    zones: ['UTC', 'Asia/Tokyo']
  }) as [{ unix_ms: number }, { unix_ms: number, offset: string }]
  t.ok(utc.unix_ms >= before && utc.unix_ms <= Date.now())
  t.match(tokyo, { unix_ms: utc.unix_ms, offset: '+09:00' })
  t.equal(await call('time', 'format', { time: '2026-03-29', format: 'HTTP' }), 'Sun, 29 Mar 2026 00:00:00 GMT')
  t.match(await call('time', 'format', { time: '2026-03-29T12:00', locale: 'en-GB' }), /29 March 2026/)
  t.match(await json('time', 'convert', { time: '2026-11-01T01:30', from: 'America/New_York', to: ['UTC'] }), [
    { iso: '2026-11-01T05:30:00.000Z' }
  ])
  t.match(await json('time', 'add', { time: '2026-01-31', duration: 'P1M' }), { iso: '2026-02-28T00:00:00.000Z' })
  t.match(await json('time', 'add', { time: '2026-03-28T12:00', zone: 'Europe/Berlin', duration: 'P1D' }), {
    iso: '2026-03-29T12:00:00.000+02:00'
  })
  t.match(await json('time', 'add', { time: '2026-03-28T12:00', zone: 'Europe/Berlin', duration: 'PT24H' }), {
    iso: '2026-03-29T13:00:00.000+02:00'
  })
  t.match(await json('time', 'add', { time: '2026-03-28', duration: '-P1Y' }), { iso: '2025-03-28T00:00:00.000Z' })
  await t.rejects(call('time', 'add', { time: '2026-03-28', duration: 'two days' }), {
    message: /no ISO 8601 duration/
  })
  await t.rejects(call('time', 'add', { time: '2026-03-28', duration: 'P999999999Y' }), {
    message: /the result is no date/
  })
  await t.rejects(call('time', 'now', { zones: [] }), { code: 'INVALID_PARAMETERS' })
})

t.test('difference', async t => {
  t.match(await json('time', 'difference', { from: '2024-02-29', to: '2026-03-01T12:00' }), {
    duration: { years: 2, months: 0, days: 1, hours: 12 },
    seconds: 63_201_600
  })
  t.match(
    await json('time', 'difference', { from: '2026-03-28', to: '2026-03-30', zone: 'Europe/Berlin', units: ['hours'] }),
    { duration: { hours: 47 } }
  )
  t.match(await json('time', 'difference', { from: '2026-01-02', to: '2026-01-01', units: ['days'] }), {
    duration: { days: -1 }
  })
})

t.test('cron', async t => {
  const next = (expression: string, more = {}): Promise<unknown> =>
    json('time', 'cron', { expression, from: '2026-03-28T12:00', count: 2, ...more })
  t.same(await next('0 0 29 2 *'), ['2028-02-29T00:00:00.000Z', '2032-02-29T00:00:00.000Z'])
  t.same(await next('@daily'), ['2026-03-29T00:00:00.000Z', '2026-03-30T00:00:00.000Z'])
  t.same(await next('30 0 12 * * *'), ['2026-03-28T12:00:30.000Z', '2026-03-29T12:00:30.000Z'], 'with seconds')
  t.same(await next('0 12 * * *', { zone: 'Europe/Berlin', count: 1 }), ['2026-03-29T12:00:00.000+02:00'])
  for (const expression of ['61 * * * *', 'often', '* * *', '0 0 30 2 *']) {
    await t.rejects(
      next(expression), { code: 'TOOL_EXECUTION_FAILED', message: /the expression .* can't be used/ }, expression
    )
  }
})
