import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { historyFileName } from '../../kernel/index.ts'
import { until } from '../../plugins/testing/until.ts'
import { limit_ms } from '../support/faults.ts'
import { execute, makeHome, request, skillet, startServer } from '../support/program.ts'

/** Mounts a file system of so many bytes in memory. @returns why it can't, or its folder */
async function mountSmall (
  bytes: number
): Promise<{ skip: string } | { folder: string, unmount: () => Promise<void> }> {
  if (process.platform !== 'linux') return { skip: 'needs tmpfs' }
  const folder = await mkdtemp(join(tmpdir(), 'skillet-full-'))
  const { status, stderr, error } =
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', folder], { encoding: 'utf8' })
  if (status === 0) {
    return {
      folder,
      unmount: async () => { spawnSync('umount', ['-l', folder]); await rm(folder, { recursive: true, force: true }) }
    }
  }
  await rm(folder, { recursive: true, force: true })
  return { skip: `can't mount a small disk: ${(error?.message ?? stderr).trim()}` }
}

const disk = await mountSmall(4 * 1_048_576)
const skip = 'skip' in disk && disk.skip
const folder = 'folder' in disk ? disk.folder : ''
t.teardown(async () => { if ('unmount' in disk) await disk.unmount() })
t.setTimeout(limit_ms)

/** Takes all room that is left. @returns gives it back */
async function fill (): Promise<() => Promise<void>> {
  const filler = join(folder, `filler-${Date.now()}`)
  for (let size = 1_048_576; size >= 512; size /= 2) {
    for (;;) {
      try {
        await writeFile(filler, Buffer.alloc(size), { flag: 'a' })
      } catch {
        break
      }
    }
  }
  return () => rm(filler)
}

t.test('on a full disk nothing is run, all is read, and it goes on when there is room', { skip }, async t => {
  t.setTimeout(0)
  const home = await makeHome()
  t.teardown(home.remove)
  const data_dir = join(folder, 'data')
  const server = await startServer(home, ['--data-dir', data_dir, '--log-level', 'error'])
  t.teardown(server.kill)
  const before = await execute(server.url, 'text', 'count', { text: 'before' })
  t.equal(before.status, 200)
  const empty = await fill()
  let refused: Awaited<ReturnType<typeof execute>> | undefined
  await until(async () => {
    const answer = await execute(server.url, 'text', 'count', { text: 'x'.repeat(20_000) })
    if (answer.status === 200) return false
    refused = answer
    return true
  })
  t.match(refused, {
    status: 503,
    body: { error: { code: 'STORAGE_UNAVAILABLE', message: /history can't be written to .*history\.mdb: .*that disk/ } }
  })
  const next = await execute(server.url, 'text', 'count', { text: 'nothing is run' })
  t.match(next, { status: 503, body: { error: { code: 'STORAGE_UNAVAILABLE' } } })
  t.equal(
    (await request(server.url, `/api/executions/${String(before.body['execution_id'])}`)).status, 200, 'reading goes on'
  )
  t.equal((await request(server.url, '/api/executions?limit=5')).status, 200)
  t.equal((await skillet(home, ['history', '--data-dir', data_dir])).status, 0, 'for other processes too')
  await empty()
  await until(async () => (await execute(server.url, 'text', 'count', { text: 'after' })).status === 200)
  t.equal(await server.stop(), 0)
  const history = await skillet(home, ['history', '--data-dir', data_dir, '--json', '--limit', '500'])
  const { executions } = JSON.parse(history.stdout) as { executions: { status: string }[] }
  t.ok(executions.length >= 3)
  t.same(executions.filter(({ status }) => status !== 'success'), [], 'what has run before the refusal is recorded')
})

t.test('a start and a backup on a full disk say what is wrong, and leave nothing behind', { skip }, async t => {
  t.setTimeout(0)
  const home = await makeHome()
  t.teardown(home.remove)
  const data_dir = join(folder, 'data')
  const { size } = await stat(join(data_dir, historyFileName))
  const empty = await fill()
  const backup = await skillet(home, ['backup', join(folder, 'copy'), '--data-dir', data_dir])
  t.match(backup, { status: 5, signal: null, stderr: /No space left on device|ENOSPC/ })
  await t.rejects(stat(join(folder, 'copy')))
  const fresh = await skillet(home, ['history', '--data-dir', join(folder, 'fresh')])
  t.match(fresh, { signal: null }, 'a new history where there is no room')
  t.not(fresh.status, 0)
  await empty()
  t.equal((await stat(join(data_dir, historyFileName))).size, size)
  t.equal((await skillet(home, ['run', 'text:count', 'text=a', '--data-dir', data_dir])).status, 0)
})
