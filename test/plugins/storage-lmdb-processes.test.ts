import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { copyFile, mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { checkFile } from '../../plugins/storage-lmdb/check-file.ts'
import lmdb, { fileName } from '../../plugins/storage-lmdb/index.ts'
import { makeStored } from '../../plugins/testing/executions.ts'
import { openHistoryFile as openFile } from '../support/history-file.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../support/storage-process.js', import.meta.url))

/** The lines a process says. */
function linesOf (child: ChildProcess): AsyncIterable<string> {
  if (child.stdout === null) throw new Error('its output is not piped')
  return createInterface(child.stdout)
}

t.test('two processes write at once', async t => {
  const data_dir = t.testdir()
  await Promise.all([1, 2].map(() => run(process.execPath, [program, 'burst', data_dir, '1000'])))
  const { service, close } = await openPlugin(lmdb, { data_dir })
  const { total, executions: [newest] } = await service.list({ limit: 1, offset: 0 })
  t.equal(total, 2_000)
  t.equal((await service.list({ limit: 1, offset: 0, skill_name: newest?.skill_name ?? '' })).total, 1_000)
  t.equal((await service.list({ limit: 1, offset: 0, tool_name: 'tool-0' })).total, 2 * 143)
  await close()
  const env = await openFile(data_dir)
  t.strictSame([...env.executions.getKeys({})], Array.from({ length: 2_000 }, (_, i) => i + 1), 'numbers are dense')
  t.equal(env.ids.getCount(), 2_000)
  t.equal(env.names.getCount(), 14, 'a pair of names has one number, whoever was first')
  await env.close()
})

t.test('a process that is killed loses nothing that was acknowledged', async t => {
  const data_dir = t.testdir()
  const child = spawn(process.execPath, [program, 'write', data_dir, '1000000'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const exit = new Promise(resolve => { child.once('exit', (_code, signal) => { resolve(signal) }) })
  const acknowledged: string[] = []
  for await (const line of linesOf(child)) {
    if (acknowledged.push(line) === 150) child.kill('SIGKILL') // those said until it is dead count too
  }
  t.equal(await exit, 'SIGKILL')
  const { service, close } = await openPlugin(lmdb, { data_dir })
  const found = await Promise.all(acknowledged.map(id => service.get(id)))
  t.strictSame(found.map(stored => stored?.execution.id), acknowledged)
  t.ok((await service.list({ limit: 1, offset: 0 })).total >= acknowledged.length)
  service.save(makeStored())
  await service.commit()
  await close()
})

t.test('a damaged file is refused by name and never ends the process', async t => {
  const source = await openPlugin(lmdb, { data_dir: join(t.testdir(), 'source') })
  for (let i = 0; i < 1_500; i++) source.service.save(makeStored())
  await source.service.commit()
  await source.close()
  const whole = join(source.data_dir, fileName)
  const { size } = await stat(whole)
  const page = 4096
  const zero = (from: number, to: number) => async (file: string): Promise<void> => {
    await writeFile(file, (await readFile(file)).fill(0, from, to))
  }
  const damages: [string, (file: string) => Promise<void>][] = [
    ...[1, 100, page, page + 100, 2 * page, Math.floor(size / 2), size - 1]
      .map((bytes): [string, (file: string) => Promise<void>] =>
        [`cut at ${bytes} of ${size}`, file => truncate(file, bytes)]),
    ['all zero', zero(0, size)],
    ['first page zero', zero(0, page)],
    ['second page zero', zero(page, 2 * page)],
    ['all but the meta pages zero', zero(2 * page, size)],
    ['garbage', file => writeFile(file, Buffer.from(Array.from({ length: size }, (_, i) => (i * 7919) >> 3 & 0xff)))],
    ['text', file => writeFile(file, 'not a history\n'.repeat(1_000))]
  ]
  const folders: string[] = []
  for (const [what, damage] of damages) {
    const data_dir = join(source.data_dir, what.replaceAll(' ', '-'))
    await mkdir(data_dir)
    await copyFile(whole, join(data_dir, fileName))
    await damage(join(data_dir, fileName))
    folders.push(data_dir)
  }
  const empty = join(source.data_dir, 'empty')
  await mkdir(empty)
  await writeFile(join(empty, fileName), '')
  // Rejects when a signal ends the process; what it said until then names the culprit.
  const { stdout } = await run(process.execPath, [program, 'open', ...folders, empty, source.data_dir])
  const lines = stdout.split('\n')
  for (const [i, [what]] of damages.entries()) {
    const [before = '', after = ''] = lines[i]?.split(' is damaged: ') ?? []
    t.equal(before, `refused ${join(folders[i] ?? '', fileName)}`, what)
    t.match(after, /. Save what can still be read with skillet doctor --repair, or put a copy in its place with skillet restore/, what)
  }
  t.strictSame(
    lines.slice(damages.length), ['opened 0', 'opened 1500', ''], 'a file of 0 bytes is new, and the whole one is sound'
  )
  await checkFile(whole)
})

t.test('a full disk fails those who wait, loses nothing, and is over when there is room', {
  skip: process.platform !== 'linux' && 'needs prlimit'
}, async t => {
  const data_dir = t.testdir()
  // The limit on a file's size stands in for the end of the disk: 2 MiB.
  const child = spawn(
    'bash',
    ['-c', 'ulimit -S -f 2048 && exec "$0" "$@"', process.execPath, program, 'full', data_dir],
    { stdio: ['ignore', 'pipe', 'ignore'] }
  )
  const exit = new Promise(resolve => { child.once('exit', (code, signal) => { resolve(signal ?? code) }) })
  const said: string[] = []
  for await (const line of linesOf(child)) {
    said.push(line)
    if (line.startsWith('full ')) await run('prlimit', ['--pid', String(child.pid), '--fsize=unlimited:'])
  }
  t.match(said[0], /^failed the history can't be written to .*history\.mdb: .*; (make room on that disk, and it goes on|look whether that disk is full or broken; .*)$/)
  t.match(
    said[1],
    /^full the history can't be written to .*history\.mdb: .* true 2 STORAGE_UNAVAILABLE$/,
    'degraded; all is found; the list shows what is on disk; nothing is admitted'
  )
  t.match(said[2], /^well \d+$/)
  t.strictSame([said.length, await exit], [3, 0], 'no rejection went unhandled')
  const { service, close } = await openPlugin(lmdb, { data_dir })
  t.equal(`well ${(await service.list({ limit: 1, offset: 0 })).total}`, said[2])
  await close()
})
