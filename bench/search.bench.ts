// How good are the answers of a search, and how fast?
// Quality needs sets of queries with their right answers: SEARCH_SETS names folders, separated by colons, with
// tools.jsonl ({id, skill_name, tool_name, description, parameters?}) and queries.jsonl ({query, relevant: [id]}).
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, get, type IncomingMessage } from 'node:http'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { silentLogger, type SkillDefinition } from '../kernel/index.ts'
import { Best } from '../plugins/search-hnsw/words/best.ts'
import { Embedder } from '../plugins/search-hnsw/meaning/embedder.ts'
import { HybridSearch } from '../plugins/search-hnsw/hybrid-search.ts'
import { LexicalIndex } from '../plugins/search-hnsw/words/lexical-index.ts'
import { Model } from '../plugins/search-hnsw/meaning/model.ts'
import { Vectors } from '../plugins/search-hnsw/meaning/vectors.ts'
import { inWords } from '../plugins/search-hnsw/words/words.ts'
import { MemoryCache } from '../plugins/storage-memory/memory-cache.ts'
import { searchable } from '../test/conformance/search.ts'
import { benchmark, roundsOf, type Options, type Row } from './lib/benchmark.ts'
import { load, requestOf } from './lib/load.ts'
import type { Plot } from './lib/plot.ts'
import { memoryOf } from './lib/processes.ts'
import { withServers, type SkilletServer } from './lib/servers.ts'
import { interleaved, median, quantile, ratios } from './lib/statistics.ts'

const model_dir = fileURLToPath(new URL('../../plugins/search-hnsw/model', import.meta.url))
const thread = { model: model_dir, models_dir: '', allow_download: false, threads: 1 }
/** One connection for all health checks. */
const kept = new Agent({ keepAlive: true, maxSockets: 1 })
const never = new AbortController().signal

export default benchmark({
  question: 'How good are the answers of a search, beside BM25 and MiniLM alone, and how fast?',
  limit_s: 900,
  async run (options) {
    const model = await Model.load(thread)
    const found = await quality(model, options)
    return {
      rows: [...found.rows, ...await latency(model, options), await indexing(model, options), ...await server(options)],
      plots: found.plots
    }
  }
})

interface Tool { id: string, skill_name: string, tool_name: string, description: string, parameters?: string[] }
interface Query { query: string, relevant: string[] }

/**
 * Whether a method's first five answers are the right ones, and whether all right ones are among them; both within
 * 0..1.
 */
interface Quality { ndcg: number, recall: number }
const methods = { words: 'BM25 alone', meaning: 'MiniLM alone', both: 'both' } as const
type Method = keyof typeof methods

/** nDCG and recall of the first five, of each half alone and of both together, which is what a search answers. */
async function quality (model: Model, { quick }: Options): Promise<{ rows: Row[], plots: Plot[] }> {
  const folders = (process.env['SEARCH_SETS'] ?? '').split(':').filter(folder => folder !== '')
  if (folders.length === 0) return { rows: [], plots: [] }
  const sets: { name: string, tools: number, queries: number, of: Record<Method, Quality> }[] = []
  for (const folder of folders) {
    const tools = await lines<Tool>(join(folder, 'tools.jsonl'))
    const all = await lines<Query>(join(folder, 'queries.jsonl'))
    const step = quick ? Math.max(1, Math.floor(all.length / 50)) : 1
    const queries = all.filter((_, i) => i % step === 0)
    sets.push({
      name: basename(folder), tools: tools.length, queries: queries.length, of: await judge(model, tools, queries)
    })
  }
  const rows: Row[] = []
  const bars: (Plot & { kind: 'bars' })['bars'] = []
  for (const method of Object.keys(methods) as Method[]) { // the keys of the table above
    const row = (what: string, of: (quality: Quality) => number, least: number): Row => ({
      what: `${what} of the first five, mean of ${sets.map(({ name }) => name).join(', ')}, ${methods[method]}`,
      unit: 'of 1', values: [mean(sets.map(set => of(set.of[method])))],
      ...(method === 'both' && { goal: { at_least: least } }),
      details: Object.fromEntries(sets.map(set => [set.name, of(set.of[method])]))
    })
    rows.push(row('nDCG', ({ ndcg }) => ndcg, 0.8), row('recall', ({ recall }) => recall, 0.85))
  }
  for (const { name, tools, queries, of } of sets) {
    for (const method of Object.keys(methods) as Method[]) {
      bars.push({
        label: `${name} (${tools} tools, ${queries} queries), ${methods[method]}`,
        value: of[method].ndcg,
        apart: method === 'both'
      })
    }
  }
  return {
    rows,
    plots: [{
      kind: 'bars',
      name: 'search-quality',
      title: 'nDCG of the first five, by words, by meaning, and by both',
      unit: '',
      bars
    }]
  }
}

async function judge (
  model: Model,
  tools: readonly Tool[],
  queries: readonly Query[]
): Promise<Record<Method, Quality>> {
  const skills = skillsOf(tools)
  const lexical = await LexicalIndex.of(skills)
  const ids = lexical.tools.map(({ skill_name, tool_name }) => `${skill_name}/${tool_name}`)
  const vectors = new Vectors(model.dimensions, undefined) // compares with all
  vectors.replace(lexical.tools.map(({ tool_name, description }) => `${inWords(tool_name)}: ${description}`))
  for (const text of vectors.waiting) vectors.add(text, await model.embed(text))
  const search = await indexed(skills, new MemoryCache())
  const sums: Record<Method, Quality> = {
    words: { ndcg: 0, recall: 0 }, meaning: { ndcg: 0, recall: 0 }, both: { ndcg: 0, recall: 0 }
  }
  try {
    for (const { query, relevant } of queries) {
      const match = lexical.match(query)
      const found = vectors.find(await model.embed(query), [], 5, new Uint32Array(0))
      const { mode, results } = await search.search(query, { top_k: 5 }, never)
      if (mode !== 'hybrid') throw new Error('a query was answered by words alone')
      const first: Record<Method, (string | undefined)[]> = {
        words: fiveBest(match.scores).map(tool => ids[tool]),
        meaning: fiveBest(found.cosines).map(i => ids[found.tools[i] ?? -1]),
        both: results.map(({ skill_name, tool_name }) => `${skill_name}/${tool_name}`)
      }
      lexical.release(match)
      const most = relevant.slice(0, 5).reduce((sum, _, i) => sum + 1 / Math.log2(i + 2), 0)
      for (const method of Object.keys(methods) as Method[]) {
        const hits = first[method].map(id => id !== undefined && relevant.includes(id))
        const sum = sums[method]
        sum.ndcg += hits.reduce((gain, hit, i) => gain + (hit ? 1 / Math.log2(i + 2) : 0), 0) / most / queries.length
        sum.recall += hits.filter(Boolean).length / relevant.length / queries.length
      }
    }
    return sums
  } finally {
    await search.close()
  }
}

/** Places of the five highest scores, of those above 0. */
function fiveBest (scores: Float32Array): number[] {
  const best = new Best(5)
  for (const [i, score] of scores.entries()) if (score > 0) best.offer(i, score)
  return best.sorted()
}

function mean (numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

/** Of one query: not seen before, seen before, and what is not embedding, with many tools. */
async function latency (model: Model, { quick }: Options): Promise<Row[]> {
  const tools = quick ? 2_000 : 10_000
  const among = `among ${tools.toLocaleString('en-US')} tools`
  const search = await indexed(manySkills(tools), new MemoryCache())
  try {
    let asked = 0
    const count = quick ? 20 : 60
    const timed = async (run: (query: string) => Promise<unknown>): Promise<number> => {
      const taken: number[] = []
      for (let i = 0; i < count; i++) {
        const query = queryOf(asked++)
        const from = performance.now()
        await run(query)
        taken.push(performance.now() - from)
      }
      return median(taken)
    }
    const unseen = async (query: string): Promise<void> => {
      const { mode } = await search.search(query, { top_k: 10 }, never)
      if (mode !== 'hybrid') throw new Error('the answer was by words alone')
    }
    await unseen('a first one')
    const samples = await interleaved({
      embedding: () => timed(query => model.embed(query)),
      unseen: () => timed(unseen),
      seen: () => timed(() => search.search('a first one', { top_k: 10 }, never))
    }, quick ? 3 : 7)
    const rest = samples.unseen.map((ms, i) => ms - (samples.embedding[i] ?? 0))
    return [
      {
        what: `a query not seen before, ${among}`,
        against: 'embedding it',
        unit: '×',
        values: ratios(samples.unseen, samples.embedding),
        goal: { at_most: 1.5 },
        details: { ms: median(samples.unseen), peer_ms: median(samples.embedding) }
      },
      { what: `a query beyond its embedding, ${among}`, unit: 'ms', values: rest, goal: { at_most: 3 } },
      { what: `a query seen before, ${among}`, unit: 'ms', values: samples.seen, goal: { at_most: 1 } }
    ]
  } finally {
    await search.close()
  }
}

/** How fast tools are embedded in the background. */
async function indexing (model: Model, { quick }: Options): Promise<Row> {
  const count = quick ? 200 : 1_500
  const skills = manySkills(count)
  const own = async (): Promise<number> => {
    const from = performance.now()
    for (const { tools } of skills) {
      for (const { name, description } of tools) await model.embed(`${inWords(name)}: ${description}`)
    }
    return performance.now() - from
  }
  const background = async (): Promise<number> => {
    const search = await indexed([], new MemoryCache())
    try {
      const from = performance.now()
      await search.index(skills)
      await search.search('wait', { top_k: 1, patience_ms: 600_000 }, never)
      return performance.now() - from
    } finally {
      await search.close()
    }
  }
  const samples = await interleaved({ own, background }, quick ? 1 : 2)
  return {
    what: 'tools embedded and indexed in the background',
    against: 'embedding them',
    unit: '×',
    values: ratios(samples.own, samples.background),
    goal: { at_least: 0.8 },
    details: {
      tools_per_second: count / median(samples.background) * 1000,
      peer_tools_per_second: count / median(samples.own) * 1000
    }
  }
}

/** What searching does to the rest of a server: health checks, memory. */
async function server (options: Options): Promise<Row[]> {
  return await withServers(async servers => {
    servers.scope.defer(() => { kept.destroy() })
    const { rounds, seconds } = roundsOf(options)
    const skillet = await servers.skillet(['--storage-durability', 'deferred'])
    await new Promise(resolve => setTimeout(resolve, 1_000))
    const before = memoryOf(skillet.pid).total / 1e6
    while ((await ask(skillet, 'is it ready')).mode !== 'hybrid') await new Promise(resolve => setTimeout(resolve, 100))
    const after = memoryOf(skillet.pid).total / 1e6
    const unseen = requestOf('POST', '/api/search', { query: `${queryOf(0)} ########` })
    const checks = async (clients: number): Promise<number> => {
      const searching = clients === 0 ? undefined : load(skillet.port, unseen, clients, seconds)
      const taken: number[] = []
      for (const end = performance.now() + seconds * 1_000; performance.now() < end;) {
        taken.push(await check(skillet))
        await new Promise(resolve => setTimeout(resolve, 2))
      }
      await searching
      return quantile(taken, 0.99)
    }
    const samples = await interleaved({ idle: () => checks(0), busy: () => checks(8) }, rounds)
    return [
      {
        what: 'p99 of GET /api/health while 8 clients search',
        against: 'idle',
        unit: '×',
        values: ratios(samples.busy, samples.idle),
        goal: { at_most: 2 },
        details: { p99_ms: median(samples.busy), peer_p99_ms: median(samples.idle) }
      },
      {
        what: 'memory that the first search by meaning adds',
        unit: 'MB',
        values: [after - before],
        details: { before_mb: before }
      }
    ]
  })
}

/** How long one health check takes, in milliseconds. */
async function check ({ port }: SkilletServer): Promise<number> {
  const from = performance.now()
  const [reply] = await once(get({ host: '127.0.0.1', port, path: '/api/health', agent: kept }), 'response') as [
    IncomingMessage
  ]
  await once(reply.resume(), 'end')
  return performance.now() - from
}

async function ask ({ url }: SkilletServer, query: string): Promise<{ mode: string }> {
  const reply = await fetch(
    `${url}/api/search`,
    { method: 'POST', body: JSON.stringify({ query }), headers: { 'content-type': 'application/json' } }
  )
  if (reply.status !== 200) throw new Error(`a search answered ${reply.status}`)
  return await reply.json() as { mode: string } // by the operation's schema
}

/** A search whose model is ready and whose tools are embedded. */
async function indexed (
  skills: readonly SkillDefinition[],
  cache: MemoryCache
): Promise<HybridSearch & { close: () => Promise<void> }> {
  const embedder = new Embedder({ ...thread, cache, log: silentLogger, onChange () { search.changed() } })
  const search = Object.assign(new HybridSearch(embedder), { close: () => embedder.close() })
  await search.index(skills.length === 0 ? [searchable('one', 'One', { one: 'One' })] : skills)
  await search.search('wait', { top_k: 1, patience_ms: 600_000 }, never)
  await idle()
  return search
}

/** Waits until the graph of the nearest is whole: the thread then has nothing to do. */
async function idle (): Promise<void> {
  for (let share = 1; share > 0.05;) {
    const before = process.cpuUsage()
    await new Promise(resolve => setTimeout(resolve, 500))
    const { user, system } = process.cpuUsage(before)
    share = (user + system) / 500_000
  }
}

const verbs = ['list', 'create', 'delete', 'update', 'find', 'send', 'export', 'compare', 'summarize', 'schedule']
const things = [
  'invoice', 'customer', 'photograph', 'recipe', 'flight', 'meeting', 'song', 'patient', 'shipment', 'lecture',
  'garden', 'contract', 'sensor', 'ticket', 'translation', 'portfolio', 'vehicle', 'museum', 'experiment', 'tournament'
]
const ways = [
  'by date', 'for a region', 'as a table', 'with its history', 'from an archive', 'for each owner',
  'in another language', 'below a price', 'near a place', 'with attachments'
]

/** Skills of ten tools each, in words that differ as those of real ones do. */
function manySkills (count: number): SkillDefinition[] {
  return Array.from({ length: count / 10 }, (_, i) => {
    const thing = `${things[i % things.length]} ${Math.floor(i / things.length)}`
    return searchable(
      `skill-${i}`,
      `Works with each ${thing}`,
      Object.fromEntries(verbs.map((verb, j) => [
        `${verb}_${things[i % things.length]}_${i}`,
        `${verb} a ${thing} ${ways[(i + j) % ways.length]}, and tell what has changed since`
      ])),
      ['id', 'since']
    )
  })
}

function queryOf (number: number): string {
  return `Could you ${verbs[number % 10]} the ${things[number % 20]} number ${number} ${ways[number % 7]} for me, please?`
}

function skillsOf (tools: readonly Tool[]): SkillDefinition[] {
  const skills = new Map<string, SkillDefinition>()
  for (const { skill_name, tool_name, description, parameters = [] } of tools) {
    const [tool] = searchable(skill_name, '', { [tool_name]: description }, parameters).tools
    if (tool === undefined) continue
    const skill = skills.get(skill_name)
    skills.set(skill_name, skill === undefined
      ? { ...searchable(skill_name, inWords(skill_name), {}), tools: [tool] }
      : { ...skill, tools: [...skill.tools, tool] })
  }
  return [...skills.values()]
}

async function lines<T> (file: string): Promise<T[]> {
  // The format is told above.
  return (await readFile(file, 'utf8')).split('\n').filter(line => line !== '').map(line => JSON.parse(line) as T)
}
