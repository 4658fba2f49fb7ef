import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import lmdb, { fileName } from '../../plugins/storage-lmdb/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { limit_ms, Random, replay, seeds } from '../support/faults.ts'

const program = fileURLToPath(new URL('../support/storage-process.js', import.meta.url))

t.setTimeout(limit_ms)

t.test('a file as it is in the midst of a commit opens, and has a beginning of what was written', {
  skip: process.platform === 'win32' && 'needs SIGSTOP'
}, async t => {
  t.setTimeout(0)
  const data_dir = join(t.testdir(), 'source')
  await mkdir(data_dir, { mode: 0o700 })
  const child = spawn(process.execPath, [program, 'write', data_dir, '1000000'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => { child.kill('SIGKILL') })
  const written: string[] = []
  const ended = (async () => { for await (const line of createInterface(child.stdout)) written.push(line) })()
  while (written.length < 5) await wait(20)
  const copies: { seed: number, folder: string, atLeast: number }[] = []
  for (const seed of seeds(4, 80)) {
    await wait(new Random(seed).below(60))
    child.kill('SIGSTOP')
    await wait(30) // it stops soon, not at once; what it said before is read meanwhile
    const folder = join(t.testdirName, `copy-${seed}`)
    await mkdir(folder, { mode: 0o700 })
    await copyFile(join(data_dir, fileName), join(folder, fileName))
    copies.push({ seed, folder, atLeast: written.length })
    child.kill('SIGCONT')
  }
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await Promise.all([exit, ended])
  for (const { seed, folder, atLeast } of copies) {
    const again = replay('copies', seed)
    const { service, close } = await openPlugin(lmdb, { data_dir: folder })
    const ids: string[] = []
    for (let cursor: string | undefined; ;) {
      const page = await service.list({ limit: 500, offset: 0, ...(cursor !== undefined && { cursor }) })
      ids.unshift(...page.executions.map(({ id }) => id).toReversed())
      cursor = page.next_cursor
      if (cursor === undefined) break
    }
    t.ok(ids.length >= atLeast, `${ids.length} of ${atLeast} acknowledged ones; ${again}`)
    t.same(ids.slice(0, written.length), written.slice(0, ids.length), again)
    t.ok(ids.length <= written.length + 1, again)
    await close()
  }
})
