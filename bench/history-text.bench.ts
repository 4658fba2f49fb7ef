// Does a search of words in a million executions take at most 100 ms, and what does it cost beside a filter?
import { makeStored } from '../plugins/testing/executions.ts'
import type { Home } from '../test/support/program.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { fillHistory } from './lib/history.ts'
import { withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

/** The index of a million executions is made within the limit of the benchmark. */
const indexed_ms = 600_000
/** Searches of a round. */
const searches = 20

export default benchmark({
  question: 'Does GET /api/executions?text=… take at most 100 ms with 1,000,000 executions in the history, and what does it cost beside a filter by skill?',
  limit_s: 1_200,
  run: options => withServers(async servers => {
    const size = options.quick ? 50_000 : 1_000_000
    const { port } = await servers.skillet([], { prepare: home => fill(home, size) })
    await index(port)
    const { rounds } = roundsOf(options)
    const time = (query: string) => () => timesOf(port, query)
    const samples = await interleaved({
      filter: time('skill_name=skill-3'), rare: time('text=order+777'), common: time('text=the'),
      several: time('text=timeout+connecting+database'), beginning: time('text=conn*'), none: time('text=absentword')
    }, rounds)
    const row = (name: string, values: number[], goal?: Row['goal']): Row => ({
      what: `GET /api/executions?text=… of ${size.toLocaleString('en-US')}, ${name}`, unit: 'ms', values,
      ...(goal !== undefined && { goal })
    })
    return {
      rows: [
        {
          what: `GET /api/executions?text=… of ${size.toLocaleString('en-US')}, several words`,
          against: 'filter by skill', unit: '×', values: ratios(samples.several, samples.filter),
          details: { search_ms: median(samples.several), peer_filter_ms: median(samples.filter) }
        },
        row('a rare word', samples.rare, { at_most: 100 }),
        row('a word of all', samples.common, { at_most: 100 }),
        row('several words', samples.several, { at_most: 100 }),
        row('a beginning', samples.beginning, { at_most: 100 }),
        row('no match', samples.none, { at_most: 100 })
      ]
    }
  })
})

/** Asks until all executions are in the index. */
async function index (port: number): Promise<void> {
  const end_ms = performance.now() + indexed_ms
  while (performance.now() < end_ms) {
    if (!(await ask(port, 'text=the')).includes('"unindexed"')) return
  }
  throw new Error('the index took too long')
}

/** The median time of a page, in milliseconds. */
async function timesOf (port: number, query: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < searches; i++) {
    const from_ms = performance.now()
    await ask(port, query)
    times.push(performance.now() - from_ms)
  }
  return median(times)
}

async function ask (port: number, query: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/executions?limit=50&${query}`)
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
  return await response.text()
}

/** Fills the history with records whose words are as frequent as in texts: the n-th word 1/n as often as the first. */
function fill (home: Home, size: number): Promise<void> {
  const draw = numbers()
  return fillHistory(home, size, i => recordOf(i, draw))
}

const frequent = 'the of and to in is file line result value name path page user error data list request status time'.split(' ')
const vocabulary = 20_000

function recordOf (i: number, draw: () => number): ReturnType<typeof makeStored> {
  const text = (length: number): string => Array.from({ length }, () => wordOf(draw)).join(' ')
  const failed = i % 20 === 0
  return makeStored({
    skill_name: `skill-${i % 10}`, tool_name: `tool-${i % 30}`, status: failed ? 'failed' : 'success',
    parameters: { path: `/home/user/project-${i % 50}/${wordOf(draw)}/${wordOf(draw)}.txt`, order: i % 100_000 },
    output: failed ? '' : `the ${text(30)} ${Math.floor(draw() * 1e9).toString(16)}`,
    error: failed
      ? { code: 'TOOL_EXECUTION_FAILED', message: `the timeout while connecting to database ${i % 7}`, details: {} }
      : null
  })
}

function wordOf (draw: () => number): string {
  const rank = Math.floor(Math.exp(draw() * Math.log(vocabulary)))
  return frequent[rank - 1] ?? `${['con', 'pre', 'de', 're', 'tra'][rank % 5]}${rank.toString(26)}`
}

/** Numbers from 0 to 1 that look like chance, the same in each run (mulberry32). */
function numbers (): () => number {
  let state = 1
  return () => {
    state = state + 0x6d2b79f5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
  }
}
