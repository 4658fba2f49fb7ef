/**
 * Runs benchmarks, each in a process of its own, and writes what they found.
 * `node dist/bench/run.js [NAME…] [--quick] [--out DIR]`: those whose name contains a NAME; by default all.
 *
 * Into DIR (bench/results; for --quick bench/results/quick) go results.json, table.md and plots. Results of benchmarks
 * that were not run stay as they were. A benchmark that fails, or takes longer than its limit, is ended with all it
 * started.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readVersion } from '../kernel/index.ts'
import type { Benchmark, Found } from './lib/benchmark.ts'
import { generator } from './lib/load.ts'
import { shown } from './lib/plot.ts'
import { concluded, plotsOf, tableOf, type Result, type Results } from './lib/results.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, out: { type: 'string' }, one: { type: 'string' } }
})

if (values.one !== undefined) {
  const found = await (await load(values.one)).run({ quick: values.quick })
  await new Promise(resolve => process.send?.(found, undefined, undefined, resolve))
  process.exit()
} else {
  await runAll()
}

async function load (name: string): Promise<Benchmark> {
  const { default: benchmark } = await import(`./${name}.bench.js`) as { default: Benchmark }
  return benchmark
}

async function runAll (): Promise<void> {
  const names = readdirSync(here).filter(file => file.endsWith('.bench.js')).map(file => basename(file, '.bench.js'))
    .filter(name => positionals.length === 0 || positionals.some(part => name.includes(part)))
  if (names.length === 0) throw new Error(`no benchmark's name contains ${positionals.join(' or ')}`)
  const out = resolve(values.out ?? join(here, '../../bench/results', values.quick ? 'quick' : ''))
  mkdirSync(out, { recursive: true })
  for (const name of names) {
    const benchmark = await load(name)
    console.log(`\n== ${name}: ${benchmark.question}`)
    try {
      const result = await runOne(name, benchmark)
      show(result)
      write(out, name, result)
    } catch (error) {
      console.error(`${name} failed: ${error instanceof Error ? error.message : String(error)}`)
      process.exitCode = 1
    }
  }
  console.log(`\nWritten to ${out}`)
}

async function runOne (name: string, { question, limit_s }: Benchmark): Promise<Result> {
  const { version, commit } = readVersion()
  const origin = {
    at: new Date().toISOString(), version, commit, node: process.versions.node, generator,
    load_before: loadavg()[0] ?? Number.NaN,
    machine: {
      cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: availableParallelism(), memory_bytes: totalmem(),
      system: `${type()} ${release()}`
    }
  }
  const began = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'skillet-bench-'))
  // A process group of its own: all that it started is ended with it.
  const child = fork(fileURLToPath(import.meta.url), ['--one', name, ...(values.quick ? ['--quick'] : [])], {
    detached: true,
    env: { ...process.env, TMPDIR: folder }
  })
  const end = (): void => {
    if (child.pid !== undefined) try { process.kill(-child.pid, 'SIGKILL') } catch { /* gone already */ }
  }
  const interrupted = (): void => {
    end()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    process.exit(130)
  }
  process.on('SIGINT', interrupted).on('SIGTERM', interrupted)
  let late = false
  const timer = setTimeout(() => {
    late = true
    end()
  }, limit_s * 1000)
  let found: Found | undefined
  child.on('message', message => { found = message as Found }) // the other end is this file
  try {
    await once(child, 'exit')
  } finally {
    clearTimeout(timer)
    end()
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  if (late) throw new Error(`it took longer than ${limit_s} s`)
  if (found === undefined || child.exitCode !== 0) {
    throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`)
  }
  return {
    question,
    ...origin,
    quick: values.quick,
    seconds: Math.round((performance.now() - began) / 1000),
    rows: found.rows.map(concluded),
    plots: found.plots ?? []
  }
}

function show ({ rows, seconds }: Result): void {
  console.table(Object.fromEntries(rows.map(row => {
    const { what, against, unit, median, first_quartile, third_quartile, goal, met } = row
    return [`${what}${against === undefined ? '' : ` / ${against}`}`, {
      measured: `${shown(median)} ${unit}`,
      quartiles: `${shown(first_quartile)}–${shown(third_quartile)}`,
      goal: goal === undefined ? '' : 'at_least' in goal ? `≥ ${goal.at_least}` : `≤ ${goal.at_most}`,
      '': met === undefined ? '' : met ? 'met' : 'NOT MET'
    }]
  })))
  for (const { what, details } of rows) {
    if (details !== undefined) {
      console.log(`${what}: ${Object.entries(details).map(([name, value]) => `${name} ${shown(value)}`).join(', ')}`)
    }
  }
  console.log(`${seconds} s`)
}

function write (out: string, name: string, result: Result): void {
  const file = join(out, 'results.json')
  // Of this program's own making.
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) as Results : {}
  const results: Results =
    Object.fromEntries(Object.entries({ ...before, [name]: result }).toSorted(([a], [b]) => a < b ? -1 : 1))
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(join(out, 'table.md'), `# What the benchmarks found\n\n${tableOf(results)}`)
  for (const [name, svg] of plotsOf(results)) writeFileSync(join(out, name), svg)
}
