// How often does a search find the bundled tool that a person's question is about?
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { benchmark, type Row } from './lib/benchmark.ts'
import { withServers, type SkilletServer } from './lib/servers.ts'

const folder = fileURLToPath(new URL('../../bench/queries', import.meta.url))
/**
 * `seen`: the descriptions of bundled tools were mended by these; `unseen`: nothing was chosen by those, and nothing
 * may be.
 */
const sets = ['seen', 'unseen'] as const

/** A question, the tools that answer it, and what is special about it: `plain`, `typo`, or a language. */
interface Question { query: string, relevant: string[], kind: string }

/** Shares of questions, within 0..1: whose first result is right, and of which one of the first five is. */
interface Shares { questions: number, first: number, five: number }

export default benchmark({
  question: 'How often does a search find the bundled tool that a person\'s question is about?',
  limit_s: 180,
  run: () => withServers(async servers => {
    const limits = ['--server-rate-limit-per-minute', '0', '--server-rate-limit-per-hour', '0']
    const words = await servers.skillet(['--search-model', 'none', ...limits])
    const both = await servers.skillet(limits)
    await untilHybrid(both)
    const rows: Row[] = []
    for (const set of sets) {
      const text = await readFile(join(folder, `${set}.jsonl`), 'utf8')
      const questions = text.trim().split('\n').map(line => JSON.parse(line) as Question)
      for (const [method, server] of [['by words and meaning', both], ['by words alone', words]] as const) {
        const shares = await judge(server, questions)
        const what = `${questions.length} ${set} questions, ${method}`
        rows.push(row(`first result right, ${what}`, shares, 'first'), row(`right among five, ${what}`, shares, 'five'))
      }
    }
    return { rows }
  })
})

function row (what: string, shares: ReadonlyMap<string, Shares>, of: 'first' | 'five'): Row {
  const share = (kind: string): number => (shares.get(kind)?.[of] ?? 0) / (shares.get(kind)?.questions ?? 1)
  const kinds = [...shares.keys()].filter(kind => kind !== 'all')
  const details = Object.fromEntries(kinds.map(kind => [kind, share(kind)]))
  return { what, unit: 'of 1', values: [share('all')], details }
}

async function judge (server: SkilletServer, questions: readonly Question[]): Promise<Map<string, Shares>> {
  const shares = new Map<string, Shares>()
  for (const { query, relevant, kind } of questions) {
    const { results } = await ask(server, query)
    const right = results.map(({ skill_name, tool_name }) => relevant.includes(`${skill_name}:${tool_name}`))
    for (const name of ['all', kind]) {
      const sums = shares.get(name) ?? { questions: 0, first: 0, five: 0 }
      shares.set(name, {
        questions: sums.questions + 1,
        first: sums.first + Number(right[0] === true),
        five: sums.five + Number(right.includes(true))
      })
    }
  }
  return shares
}

interface Answer { mode: string, results: { skill_name: string, tool_name: string }[] }

async function ask ({ url }: SkilletServer, query: string): Promise<Answer> {
  const body = JSON.stringify({ query, top_k: 5 })
  const reply =
    await fetch(`${url}/api/search`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  if (reply.status !== 200) throw new Error(`a search answered ${reply.status}`)
  return await reply.json() as Answer // by the operation's schema
}

async function untilHybrid (server: SkilletServer): Promise<void> {
  for (let tries = 0; (await ask(server, 'wait for the model')).mode !== 'hybrid'; tries++) {
    if (tries === 600) throw new Error('the model did not load within a minute')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
