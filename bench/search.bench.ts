// How good are the answers of a search, and how fast?
// Quality needs sets of queries with their right answers: SEARCH_SETS names folders, separated by colons, with tools.jsonl
// ({id, skill_name, tool_name, description, parameters?}) and queries.jsonl ({query, relevant: [id]}).
import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { silentLogger, type Cache, type SkillDefinition } from '../kernel/index.ts'
import { Embedder } from '../plugins/search-hnsw/embedder.ts'
import { loadGraphs } from '../plugins/search-hnsw/graph.ts'
import { HybridSearch } from '../plugins/search-hnsw/hybrid-search.ts'
import { LexicalIndex } from '../plugins/search-hnsw/lexical-index.ts'
import { Model } from '../plugins/search-hnsw/model.ts'
import { rank } from '../plugins/search-hnsw/ranking.ts'
import { Vectors } from '../plugins/search-hnsw/vectors.ts'
import { inWords } from '../plugins/search-hnsw/words.ts'
import { MemoryCache } from '../plugins/storage-memory/memory-cache.ts'
import { searchable } from '../test/conformance/search.ts'
import { benchmark, roundsOf, type Options, type Row } from './lib/benchmark.ts'
import type { Plot } from './lib/plot.ts'
import { memoryOf } from './lib/processes.ts'
import { withServers, type SkilletServer } from './lib/servers.ts'
import { interleaved, median, quantile, ratios } from './lib/statistics.ts'

const model_dir = fileURLToPath(new URL('../../plugins/search-hnsw/model', import.meta.url))
const thread = { model: model_dir, models_dir: '', allow_download: false, threads: 1 }
const never = new AbortController().signal
const tools_many = 10_000
const among = `among ${tools_many.toLocaleString('en-US')} tools`

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

/** nDCG and recall of the first five, of each half alone and of both together. */
async function quality (model: Model, { quick }: Options): Promise<{ rows: Row[], plots: Plot[] }> {
  const folders = (process.env['SEARCH_SETS'] ?? '').split(':').filter(folder => folder !== '')
  const rows: Row[] = []
  const bars: (Plot & { kind: 'bars' })['bars'] = []
  for (const folder of folders) {
    if (!(await stat(folder)).isDirectory()) throw new Error(`${folder} is no folder`)
    const tools = await lines<Tool>(join(folder, 'tools.jsonl'))
    const all = await lines<Query>(join(folder, 'queries.jsonl'))
    const step = quick ? Math.max(1, Math.floor(all.length / 50)) : 1
    const found = await answers(model, tools, all.filter((_, i) => i % step === 0))
    for (const [method, of] of Object.entries(found)) {
      const what = `${basename(folder)}, ${method}`
      rows.push({ what: `nDCG@5, ${what}`, unit: 'of 1', values: [median([of.ndcg])], ...(method === 'both' && { goal: { at_least: 0.7 } }), details: { recall_at_5: of.recall, queries: of.queries, tools: tools.length } })
      bars.push({ label: what, value: of.ndcg, apart: method === 'both' })
    }
  }
  return { rows, plots: bars.length === 0 ? [] : [{ kind: 'bars', name: 'search-quality', title: 'nDCG@5 of words, meaning, and both', unit: '', bars }] }
}

async function answers (model: Model, tools: readonly Tool[], queries: readonly Query[]) {
  const lexical = await LexicalIndex.of(skillsOf(tools))
  const ids = lexical.tools.map(({ skill_name, tool_name }) => `${skill_name}/${tool_name}`)
  const vectors = new Vectors(model.dimensions, await loadGraphs())
  vectors.replace(lexical.tools.map(({ tool_name, description }) => `${inWords(tool_name)}: ${description}`))
  for (const text of vectors.waiting) vectors.add(text, (await model.embed(text)).whole)
  while (vectors.grow());
  const sums = { words: { ndcg: 0, recall: 0, queries: queries.length }, meaning: { ndcg: 0, recall: 0, queries: queries.length }, both: { ndcg: 0, recall: 0, queries: queries.length } }
  for (const { query, relevant } of queries) {
    const match = lexical.match(query)
    const byWords = [...match.scores.keys()].filter(tool => (match.scores[tool] ?? 0) > 0).sort((a, b) => (match.scores[b] ?? 0) - (match.scores[a] ?? 0))
    const { whole, parts } = await model.embed(query, true)
    const alone = vectors.find(whole, [], 100, new Uint32Array(0))
    const found = vectors.find(whole, parts, 100, Uint32Array.from(byWords.slice(0, 100)))
    const order = {
      words: byWords,
      meaning: [...alone.tools.keys()].sort((a, b) => (alone.cosines[b] ?? 0) - (alone.cosines[a] ?? 0)).map(i => alone.tools[i] ?? 0),
      both: rank(found.tools, query, lexical, match, found).map(({ tool }) => tool)
    }
    for (const method of ['words', 'meaning', 'both'] as const) {
      const hits = order[method].slice(0, 5).map(tool => relevant.includes(ids[tool] ?? ''))
      const gain = hits.reduce((sum, hit, i) => sum + (hit ? 1 / Math.log2(i + 2) : 0), 0)
      const most = relevant.slice(0, 5).reduce((sum, _, i) => sum + 1 / Math.log2(i + 2), 0)
      sums[method].ndcg += gain / most / queries.length
      sums[method].recall += hits.filter(Boolean).length / relevant.length / queries.length
    }
  }
  return sums
}

/** Of one query: not seen before, seen before, and what is not embedding, with many tools. */
async function latency (model: Model, { quick }: Options): Promise<Row[]> {
  const search = await indexed(manySkills(tools_many), knowing(model.dimensions))
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
      { what: `a query not seen before, ${among}`, against: 'embedding it', unit: '×', values: ratios(samples.unseen, samples.embedding), goal: { at_most: 1.5 }, details: { ms: median(samples.unseen), peer_ms: median(samples.embedding) } },
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
    for (const { tools } of skills) for (const { name, description } of tools) await model.embed(`${inWords(name)}: ${description}`)
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
  return { what: 'tools embedded and indexed in the background', against: 'embedding them', unit: '×', values: ratios(samples.own, samples.background), goal: { at_least: 0.8 }, details: { tools_per_second: count / median(samples.background) * 1000, peer_tools_per_second: count / median(samples.own) * 1000 } }
}

/** What searching does to the rest of a server: health checks, memory. */
async function server (options: Options): Promise<Row[]> {
  return await withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const skillet = await servers.skillet(['--storage-durability', 'deferred'])
    await new Promise(resolve => setTimeout(resolve, 1_000))
    const before = memoryOf(skillet.pid).total / 1e6
    while ((await ask(skillet, 'is it ready')).mode !== 'hybrid') await new Promise(resolve => setTimeout(resolve, 100))
    const after = memoryOf(skillet.pid).total / 1e6
    let asked = 0
    const checks = async (clients: number): Promise<number> => {
      const end = performance.now() + seconds * 1_000
      const searching = Array.from({ length: clients }, async () => { while (performance.now() < end) await ask(skillet, queryOf(asked++)) })
      const taken: number[] = []
      while (performance.now() < end) {
        const from = performance.now()
        await (await fetch(`${skillet.url}/api/health`)).arrayBuffer()
        taken.push(performance.now() - from)
        await new Promise(resolve => setTimeout(resolve, 2))
      }
      await Promise.all(searching)
      return quantile(taken, 0.99)
    }
    const samples = await interleaved({ idle: () => checks(0), busy: () => checks(8) }, rounds)
    return [
      { what: 'p99 of GET /api/health while 8 clients search', against: 'idle', unit: '×', values: ratios(samples.busy, samples.idle), goal: { at_most: 2 }, details: { p99_ms: median(samples.busy), peer_p99_ms: median(samples.idle) } },
      { what: 'memory that the first search by meaning adds', unit: 'MB', values: [after - before], details: { before_mb: before } }
    ]
  })
}

async function ask ({ url }: SkilletServer, query: string): Promise<{ mode: string }> {
  const reply = await fetch(`${url}/api/search`, { method: 'POST', body: JSON.stringify({ query }), headers: { 'content-type': 'application/json' } })
  if (reply.status !== 200) throw new Error(`a search answered ${reply.status}`)
  return await reply.json() as { mode: string } // by the operation's schema
}

/** A search whose model is ready and whose tools are embedded. */
async function indexed (skills: readonly SkillDefinition[], cache: Cache): Promise<HybridSearch & { close: () => Promise<void> }> {
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

/** A cache that has a vector for every key: what is embedded does not matter to how fast it is found. */
function knowing (dimensions: number): Cache {
  let state = 1
  const random = (): number => (state = Math.imul(state, 48_271) % 2_147_483_647) / 2_147_483_647
  return {
    read: async keys => keys.map(() => {
      const vector = Float32Array.from({ length: dimensions }, random)
      const length = Math.hypot(...vector)
      return new Uint8Array(vector.map(value => value / length).buffer)
    }),
    async write () {}
  }
}

const verbs = ['list', 'create', 'delete', 'update', 'find', 'send', 'export', 'compare', 'summarize', 'schedule']
const things = ['invoice', 'customer', 'photograph', 'recipe', 'flight', 'meeting', 'song', 'patient', 'shipment', 'lecture', 'garden', 'contract', 'sensor', 'ticket', 'translation', 'portfolio', 'vehicle', 'museum', 'experiment', 'tournament']
const ways = ['by date', 'for a region', 'as a table', 'with its history', 'from an archive', 'for each owner', 'in another language', 'below a price', 'near a place', 'with attachments']

/** Skills of ten tools each, in words that differ as those of real ones do. */
function manySkills (count: number): SkillDefinition[] {
  return Array.from({ length: count / 10 }, (_, i) => {
    const thing = `${things[i % things.length]} ${Math.floor(i / things.length)}`
    return searchable(`skill-${i}`, `Works with each ${thing}`, Object.fromEntries(verbs.map((verb, j) => [`${verb}_${things[i % things.length]}_${i}`, `${verb} a ${thing} ${ways[(i + j) % ways.length]}, and tell what has changed since`])), ['id', 'since'])
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
    skills.set(skill_name, skill === undefined ? { ...searchable(skill_name, inWords(skill_name), {}), tools: [tool] } : { ...skill, tools: [...skill.tools, tool] })
  }
  return [...skills.values()]
}

async function lines<T> (file: string): Promise<T[]> {
  return (await readFile(file, 'utf8')).split('\n').filter(line => line !== '').map(line => JSON.parse(line) as T) // the format is told above
}
