/**
 * Has it become much slower? Measures two ratios again, briefly, and compares them with the committed results. Ratios
 * to a raw server on the same machine at the same time say something on any machine, and the bound is wide: half of
 * what was. A machine that gives its cores to others meanwhile is not judged: there, whatever takes several threads
 * loses most.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Result, Results } from './lib/results.ts'

const watched = [
  { benchmark: 'execute', what: 'POST /api/execute, deferred, 64 connections', against: 'raw uWebSockets.js POST' },
  { benchmark: 'reads', what: 'GET /api/health', against: 'raw uWebSockets.js with the same bytes' }
]
/** Of the committed ratio, what must be reached. */
const share = 0.5
/** A machine that is busy with something else for a moment is no regression. */
const attempts = 3
/** Of all cores' time, what this process must get for its numbers to mean anything. */
const idleShare = 0.8
/** How long a busy machine is waited for, in seconds. */
const patience_s = 60

const committed = read(fileURLToPath(new URL('../../bench/results/results.json', import.meta.url)))
const out = mkdtempSync(join(tmpdir(), 'skillet-guard-'))
try {
  process.exitCode = await guard() ? 0 : 1
} finally {
  rmSync(out, { recursive: true, force: true })
}

async function guard (): Promise<boolean> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (!await isIdle()) {
      console.log(`Not judged: for ${patience_s} s, other work has taken more than ${Math.round(100 - 100 * idleShare)} % of this machine.`)
      return true
    }
    const run = fileURLToPath(new URL('./run.js', import.meta.url))
    const { status } = spawnSync(
      process.execPath,
      [run, '--quick', '--out', out, ...watched.map(({ benchmark }) => benchmark)],
      { stdio: ['ignore', 'inherit', 'inherit'] }
    )
    if (status !== 0) continue
    const measured = read(join(out, 'results.json'))
    const slow = watched.filter(one => {
      const [before, now] = [medianOf(committed, one), medianOf(measured, one)]
      console.log(`${one.what} / ${one.against}: ${now}, committed ${before}`)
      return !(now >= share * before)
    })
    if (slow.length === 0) return true
  }
  console.error(`After ${attempts} attempts it is less than ${share} of the committed results.`)
  return false
}

/** Whether the machine is this process's own, now or soon. */
async function isIdle (): Promise<boolean> {
  for (const end = performance.now() + patience_s * 1000; performance.now() < end; await sleep(2_000)) {
    if (await shareOfMachine() >= idleShare) return true
  }
  return false
}

/** Of all cores' time, what loops on each of them get. */
async function shareOfMachine (): Promise<number> {
  const cores = availableParallelism()
  const workers = Array.from({ length: cores }, () => new Worker('for (;;);', { eval: true }))
  await sleep(200) // they start
  const [before, began] = [process.cpuUsage(), performance.now()]
  await sleep(500)
  const { user, system } = process.cpuUsage(before)
  const share = (user + system) / 1000 / (performance.now() - began) / cores
  await Promise.all(workers.map(worker => worker.terminate()))
  return share
}

function medianOf (results: Results, { benchmark, what, against }: typeof watched[number]): number {
  const row: Result['rows'][number] | undefined = results[benchmark]?.rows.find(row =>
    row.what === what && row.against === against)
  if (row === undefined) throw new Error(`no results of ${benchmark}: ${what}`)
  return row.median
}

function read (file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results // of this suite's own making
}
