import t from 'tap'
import { MixedLoad } from '../support/mixed-load.ts'
import { makeHome, startServer } from '../support/program.ts'

// `npm run test:load` asks for many more.
const executions = Number(process.env['SKILLET_LOAD_EXECUTIONS'] ?? 500)
const clients = 256

t.setTimeout(Math.max(300_000, executions * 20))

for (const durability of ['committed', 'deferred']) {
  t.test(`${executions} mixed executions of ${clients} clients, ${durability}: none lost, none twice, none with another's output`, async t => {
    t.setTimeout(0)
    const home = await makeHome()
    t.teardown(home.remove)
    const load = await MixedLoad.prepare(home, clients)
    const args = ['--no-bundled-skills', '--log-level', 'error', '--storage-durability', durability]
    const server = await startServer(home, args)
    t.teardown(server.kill)
    const count = await load.drive(server.url, executions)
    t.ok(Object.values(count).every(number => number > 0), JSON.stringify(count))
    t.equal(await server.stop(), 0, 'it stops in order')
    // The history is read by another process: what was acknowledged is on disk.
    const next = await startServer(home, args)
    t.teardown(next.kill)
    await load.compare(next.url)
    t.same(load.wrong, [])
  })
}
