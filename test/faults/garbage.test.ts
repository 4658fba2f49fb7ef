import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { silentLogger, type Execution } from '../../kernel/index.ts'
import lmdb, { fileName } from '../../plugins/storage-lmdb/index.ts'
import { makeStored } from '../../plugins/testing/executions.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { limit_ms, Random, replay, seeds } from '../support/faults.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../support/storage-process.js', import.meta.url))
const pageBytes = 4_096

t.setTimeout(limit_ms)

/** Writes a history of several kinds of pages. @returns its directory, and its executions by id */
async function makeHistory (data_dir: string): Promise<Map<string, Execution>> {
  await mkdir(data_dir, { mode: 0o700 })
  // Pruning leaves free pages, and two unfinished executions that were set aside.
  const { service, close } = await openPlugin(lmdb, { data_dir, config: { storage: { history_executions_max: 400 } } })
  for (let i = 0; i < 900; i++) {
    const stored = makeStored({ output: `${i} `.repeat(i % 10 === 0 ? 2_000 : 1), skill_name: `of-${i % 7}` })
    service.save(i % 400 === 100
      ? { execution: { ...stored.execution, status: 'running' }, owner: { pid: 1, started: 'never' } }
      : stored)
    if (i % 60 === 0) await service.commit()
  }
  await service.cache.write(Array.from({ length: 200 }, (_, i) => [`key-${i}`, Buffer.alloc(i * 10)]))
  await service.commit()
  const { executions } = await service.list({ limit: 500, offset: 0 })
  const found = await Promise.all(executions.map(({ id }) => service.get(id)))
  await close()
  return new Map(found.flatMap(stored => stored === undefined ? [] : [[stored.execution.id, stored.execution]]))
}

/** Damages pages of a file: garbage, zeros, or another page of it. */
function damage (whole: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(whole)
  const pages = Math.floor(bytes.length / pageBytes)
  for (let times = 1 + random.below(3); times > 0; times--) {
    const page = random.below(pages) * pageBytes
    const at = page + random.below(random.of([24, 64, pageBytes]))
    const to = Math.min(at + random.of([1, 2, 8, 64, pageBytes]), bytes.length)
    const kind = random.of(['garbage', 'garbage', 'zeros', 'other'] as const)
    const other = random.below(pages) * pageBytes
    if (kind === 'other') whole.copy(bytes, page, other, other + pageBytes)
    else for (let i = at; i < to; i++) bytes[i] = kind === 'zeros' ? 0 : random.below(256)
  }
  return bytes
}

t.test('a file with garbage is refused or read as it was, and is repaired; no process ends by a signal', async t => {
  t.setTimeout(0)
  const source = join(t.testdir(), 'source')
  const truth = await makeHistory(source)
  const whole = await readFile(join(source, fileName))
  const numbers = seeds(4, 200)
  const folders = numbers.map(seed => join(t.testdirName, `seed-${seed}`))
  for (const [i, seed] of numbers.entries()) {
    const folder = folders[i] ?? ''
    await mkdir(folder, { mode: 0o700 })
    await writeFile(join(folder, fileName), damage(whole, new Random(seed)), { mode: 0o600 })
  }
  const { stdout: sound } = await run(process.execPath, [program, 'use', source])
  const digest = /^used ([0-9a-f]{64})$/m.exec(sound)?.[1]
  t.ok(digest, sound)
  // Rejects when a signal ends the process: `signal` then names it, and the first missing line the seed.
  const { stdout } = await run(process.execPath, [program, 'use', ...folders], { maxBuffer: 2 ** 26 })
    .catch((error: { stdout: string }) => error)
  const lines = stdout.trimEnd().split('\n')
  let refused = 0
  for (const [i, seed] of numbers.entries()) {
    const line = lines[i] ?? 'the process ended'
    const again = replay('garbage', seed)
    if (line === `used ${digest}`) continue
    refused++
    t.match(line, / is damaged: .*skillet doctor --repair/, again)
    // A repair takes longer than all else; of many, every fourth is enough.
    if (numbers.length < 10 || seed % 4 === 0) await repair(t, folders[i] ?? '', truth, again)
  }
  t.ok(refused > 0 || numbers.length < 5, 'some damage was in pages that are used')
})

/** Repairs a history: it has true executions only, and says how many are missing. */
async function repair (t: Test, data_dir: string, truth: ReadonlyMap<string, Execution>, again: string): Promise<void> {
  const context = { data_dir, log: silentLogger, signal: new AbortController().signal }
  const report = await lmdb.care?.repair(context)
  t.match(report, { damage: /./, aside: /\.damaged-/ }, again)
  t.ok(
    report?.lost === null || (report?.kept ?? 0) + (report?.lost ?? 0) === truth.size,
    `${JSON.stringify(report)}; ${again}`
  )
  const { service, close } = await openPlugin(lmdb, { data_dir })
  const { executions } = await service.list({ limit: 500, offset: 0 })
  t.equal(executions.length, report?.kept, again)
  const found = await Promise.all(executions.map(async ({ id }) => (await service.get(id))?.execution))
  // Texts have no checksum in the file: garbage within one may stay a text.
  const facts = (record: Execution | undefined): unknown => [record?.id, record?.status, record?.created_at]
  t.same(found.map(facts), executions.map(({ id }) => facts(truth.get(id))), again)
  await close()
}
