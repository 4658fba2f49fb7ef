import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { historyFileName } from '../../kernel/index.ts'
import { execute, makeHome, skillet, startServer } from '../support/program.ts'

t.test('backup while a server runs, restore when it has ended, and repair', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const server = await startServer(home, ['--log-level', 'error'])
  t.teardown(server.kill)
  t.equal((await execute(server.url, 'text', 'count', { text: 'first' })).status, 200)
  const copy = join(home.folder, 'copy')
  const backup = await skillet(home, ['backup', 'copy', '--json'])
  t.match(JSON.parse(backup.stdout), { file: copy, executions: 1 })
  t.match(await skillet(home, ['backup', 'copy']), {
    status: 5,
    stderr: `error: ${copy} is there already; name a file that is not\n`
  })
  t.equal((await execute(server.url, 'text', 'count', { text: 'second' })).status, 200)
  t.match(await skillet(home, ['restore', copy]), {
    status: 5,
    stderr: new RegExp(`process ${server.pid} uses .*; stop it first`)
  })
  t.match(await skillet(home, ['doctor', '--repair']), { status: 5, stderr: new RegExp(`process ${server.pid} uses `) })
  t.equal(await server.stop(), 0)
  t.match(await skillet(home, ['restore', copy]), {
    status: 0,
    stdout: /^The history has 1 execution now\.\nThe former history is .*\.before-/
  })
  const history = async (): Promise<number> =>
    (JSON.parse((await skillet(home, ['history', '--json'])).stdout) as { total: number }).total
  t.equal(await history(), 1)

  const file = join(home.data_dir, historyFileName)
  const bytes = await readFile(file)
  const page = Math.floor(bytes.lastIndexOf('"text","count"') / 4_096) * 4_096
  await writeFile(file, bytes.fill(0xa5, page + 16, page + 200))
  const refused = await skillet(home, ['history'])
  t.match(refused, { status: 5, signal: null, stderr: /history\.mdb is damaged: .* skillet doctor --repair/ })
  t.match(
    await skillet(home, ['doctor']),
    { status: 1, signal: null, stdout: /problem +start .*is damaged: .* skillet doctor --repair/ }
  )
  const repair = JSON.parse(
    (await skillet(home, ['doctor', '--repair', '--json'])).stdout
  ) as { damage: string, kept: number, lost: number }
  t.match(repair.damage, /^page \d+ /)
  t.equal(repair.kept + repair.lost, 1, 'an older version of the page may have it')
  t.equal(await history(), repair.kept)
  t.match(
    (await skillet(home, ['doctor', '--repair'])).stdout,
    /^Nothing is wrong with the history, which has [01] execution/
  )
  t.ok((await readdir(home.data_dir)).some(name => name.includes('.damaged-')))
})
