/**
 * Does a page of the history cost the same however long the history is, and however deep the page?
 * `node dist/bench/history-pages.bench.js [--sizes 1000,100000] [--rounds 200] [--json FILE]`
 *
 * The histories are open at once and each round times every question on each, in turn, so that what else the
 * machine does falls on all alike. Reported: the median time, and its ratio to the smallest history's first page.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { ExecutionQuery, Storage } from '../kernel/index.ts'
import lmdb from '../plugins/storage-lmdb/index.ts'
import { makeStored } from '../test/support/executions.ts'
import { openPlugin } from '../test/support/open-plugin.ts'
import { median, rounded, save } from './lib/report.ts'

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '1000,100000' }, rounds: { type: 'string', default: '200' }, json: { type: 'string' } }
})
const sizes = values.sizes.split(',').map(Number)
const rounds = Number(values.rounds)
const perCommit = 64
/** A filtered question looks through up to all of the history, so it gets fewer rounds. */
const filteredEvery = 10

interface Question { name: string, query: ExecutionQuery, every: number }
interface Row { executions: number, question: string, median_us: number, ratio: number }
interface Fill { executions: number, cpu_us: number, wall_us: number, commit_median_ms: number, commit_p99_ms: number }

function questions (size: number): Question[] {
  const page = (name: string, query: Partial<ExecutionQuery>, every = 1): Question => ({ name, query: { limit: 50, offset: 0, ...query }, every })
  return [
    page('first page', {}),
    page('middle page', { offset: Math.floor(size / 2) }),
    page('deepest page', { offset: size - 50 }),
    page('total', { limit: 1 }),
    page('filtered page, common', { skill_name: 'skill-3' }, filteredEvery),
    page('filtered page, rare', { status: 'timeout' }, filteredEvery),
    page('filtered page, none', { skill_name: 'absent', status: 'failed' }, filteredEvery)
  ]
}

/** Fills a history by commits of 64, and measures what one execution costs: CPU of the main thread, and time. */
async function fill (storage: Storage, size: number): Promise<Fill> {
  const commits_ms: number[] = []
  let cpu_us = 0
  const began_ms = performance.now()
  for (let done = 0; done < size; done += perCommit) {
    // Made before the clock starts: an execution's own cost is not storage's.
    const batch = Array.from({ length: Math.min(perCommit, size - done) }, (_, i) => makeStored({
      skill_name: `skill-${i % 10}`, tool_name: `tool-${i % 3}`, status: (done + i) % 1_000 === 0 ? 'timeout' : 'success'
    }))
    const before_ms = performance.now()
    const before_us = mainThread_us()
    for (const stored of batch) storage.save(stored)
    await storage.commit()
    cpu_us += mainThread_us() - before_us
    commits_ms.push(performance.now() - before_ms)
  }
  return {
    executions: size,
    cpu_us: rounded(cpu_us / size),
    wall_us: rounded((performance.now() - began_ms) * 1000 / size),
    commit_median_ms: rounded(median(commits_ms)),
    commit_p99_ms: rounded(commits_ms.toSorted((a, b) => a - b)[Math.floor(commits_ms.length * 0.99)] ?? Number.NaN)
  }
}

/** CPU time of the main thread alone, without lmdb's write thread, where the system tells it; else of the process. */
function mainThread_us (): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
  } catch {
    const { user, system } = process.cpuUsage()
    return user + system
  }
}

const opened = []
const fills: Fill[] = []
for (const size of sizes) {
  const { service, close } = await openPlugin(lmdb, { config: { storage: { history_executions_max: size } } })
  opened.push({ size, service, close, times: questions(size).map(question => ({ ...question, us: [] as number[] })) })
  fills.push(await fill(service, size))
}

for (let round = 0; round < rounds; round++) {
  for (const { service, times } of opened) {
    for (const { query, every, us } of times) {
      if (round % every !== 0) continue
      const before_ms = performance.now()
      await service.list(query)
      us.push((performance.now() - before_ms) * 1000)
    }
  }
}

const base_us = median(opened[0]?.times[0]?.us ?? [])
const rows = opened.flatMap(({ size, times }): Row[] => times.map(({ name, us }) => {
  const median_us = median(us)
  return { executions: size, question: name, median_us: rounded(median_us), ratio: rounded(median_us / base_us) }
}))
console.log(`Pages of 50; median of ${rounds} rounds (filtered: ${Math.ceil(rounds / filteredEvery)}); ratio to the first page of ${sizes[0]}`)
console.table(rows)
console.log(`Filling by ${perCommit} executions a commit, per execution: CPU of the main thread, and wall clock; and the time of a commit`)
console.table(fills)
await save(values.json, 'history-pages', { rounds, per_commit: perCommit, pages: rows, fills })
for (const { close } of opened) await close()
