// Does a page of the history cost the same however long the history is, and however deep the page?
import { makeStored } from '../plugins/testing/executions.ts'
import type { Home } from '../test/support/program.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { fillHistory } from './lib/history.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const small = 1_000

export default benchmark({
  question: 'Does GET /api/executions?limit=50 cost the same with 1,000,000 executions in the history, on the first page and the deepest?',
  limit_s: 600,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const large = options.quick ? 50_000 : 1_000_000
    const filled = async (size: number): Promise<number> =>
      (await servers.skillet([], { prepare: home => fill(home, size) })).port
    const [short, long] = [await filled(small), await filled(large)]
    const page = (port: number, query: string) =>
      () => load(port, requestOf('GET', `/api/executions?limit=50${query}`), 64, seconds)
    const samples = await interleaved({
      small: page(short, ''), first: page(long, ''), middle: page(long, `&offset=${large / 2}`),
      deepest: page(long, `&offset=${large - 50}`)
    }, rounds)
    const time_ms = (loads: Load[]): number[] => loads.map(one => 1000 / one.requests_per_second)
    const row = (name: string, loads: Load[], goal?: Row['goal']): Row => ({
      what: `GET /api/executions?limit=50 of ${large.toLocaleString('en-US')}, ${name} page`,
      against: `of ${small.toLocaleString('en-US')}, first page`, unit: '×',
      values: ratios(time_ms(loads), time_ms(samples.small)), ...(goal !== undefined && { goal }),
      details: { page_ms: median(time_ms(loads)), peer_page_ms: median(time_ms(samples.small)) }
    })
    return {
      rows: [
        row('first', samples.first, { at_most: 1.5 }),
        row('middle', samples.middle),
        row('deepest', samples.deepest, { at_most: 1.5 })
      ],
      plots: [{
        kind: 'bars', name: 'history-pages',
        title: `Time of a page of 50, of ${large.toLocaleString('en-US')} executions`, unit: 'ms',
        bars: [
          [`first page of ${small.toLocaleString('en-US')}`, samples.small],
          ['first page', samples.first],
          ['middle page', samples.middle],
          ['deepest page', samples.deepest]
        ].map(([label, loads]) =>
          ({ label: String(label), value: median(time_ms(loads as Load[])) }))
      }]
    }
  })
})

function fill (home: Home, size: number): Promise<void> {
  return fillHistory(home, size, i => makeStored({
    skill_name: `skill-${i % 10}`, tool_name: `tool-${i % 3}`, status: i % 1_000 === 0 ? 'timeout' : 'success'
  }))
}
