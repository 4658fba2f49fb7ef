import t from 'tap'
import lmdb from '../../plugins/storage-lmdb/index.ts'
import { MixedLoad } from '../support/mixed-load.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { makeHome, startServer } from '../support/program.ts'

// `npm run test:load` asks for many more.
const executions = Number(process.env['SKILLET_LOAD_EXECUTIONS'] ?? 500)
const clients = 256

t.setTimeout(Math.max(300_000, executions * 60))

for (const durability of ['committed', 'deferred']) {
  t.test(`${executions} mixed executions of ${clients} clients, ${durability}: none lost, none twice, none with another's output`, async t => {
    t.setTimeout(0)
    const home = await makeHome()
    t.teardown(home.remove)
    const load = await MixedLoad.prepare(home, clients)
    const server = await startServer(home, [
      '--no-bundled-skills', '--log-level', 'error', '--storage-durability', durability
    ])
    t.teardown(server.kill)
    const count = await load.drive(server.url, executions)
    t.ok(Object.values(count).every(number => number > 0), JSON.stringify(count))
    t.equal(await server.stop(), 0, 'it stops in order')
    // Read by another process: what was acknowledged is on disk.
    const { service: history, close } = await openPlugin(lmdb, { data_dir: home.data_dir })
    await load.compare(history)
    await close()
    t.same(load.wrong, [])
  })
}
