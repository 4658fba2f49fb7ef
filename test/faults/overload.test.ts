import { readFile } from 'node:fs/promises'
import t from 'tap'
import lmdb from '../../plugins/storage-lmdb/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { isLong, limit_ms } from '../support/faults.ts'
import { makeMarkingHome } from '../support/marking.ts'
import { execute, startServer } from '../support/program.ts'

t.setTimeout(limit_ms)

/** The runs that wait and the threads that run them: what the server can hold at once, about. */
const queueMax = 4
const threads = 2
const clients = 10 * (queueMax + threads)
const callsEach = isLong ? 100 : 6

t.test('ten times as many calls as there is room for: the excess is refused, the rest is answered and recorded', async t => {
  t.setTimeout(0)
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const server = await startServer(home, [
    '--no-bundled-skills', '--log-level', 'error', '--execution-queue-max', String(queueMax), '--execution-threads',
    String(threads)
  ])
  t.teardown(server.kill)
  const accepted = new Map<string, string>()
  let refused = 0
  const wrong: string[] = []
  await Promise.all(Array.from({ length: clients }, async (_, client) => {
    for (let i = 0; i < callsEach; i++) {
      const call = `call-${client}-${i}`
      const { status, body } = await execute(server.url, 'marking', 'busy', { call, file: marks })
      if (status === 200) {
        accepted.set(String(body['execution_id']), call)
      } else {
        refused++
        if (status !== 503 || !JSON.stringify(body).includes('"OVERLOADED"')) {
          wrong.push(`${status} ${JSON.stringify(body)}`)
        }
      }
    }
  }))
  t.same(wrong, [])
  t.equal(accepted.size + refused, clients * callsEach)
  t.ok(accepted.size > 0 && refused > 0, `${accepted.size} accepted, ${refused} refused`)
  t.equal(
    (await execute(server.url, 'marking', 'fast', { call: 'later', file: marks })).status, 200, 'there is room again'
  )
  t.equal(await server.stop(), 0)
  const { service, close } = await openPlugin(lmdb, { data_dir: home.data_dir })
  t.equal(
    (await service.list({ limit: 1, offset: 0 })).total, accepted.size + 1, 'what was refused is recorded nowhere'
  )
  for (const [id, call] of accepted) {
    const found = (await service.get(id))?.execution
    if (found?.status !== 'success' || found.parameters['call'] !== call) {
      wrong.push(`${call}: ${JSON.stringify(found)}`)
    }
  }
  await close()
  t.same(wrong, [])
  const lines = (await readFile(marks, 'utf8')).trimEnd().split('\n').toSorted()
  t.same(lines, [...accepted.values(), 'later'].toSorted(), 'what was accepted ran once, and nothing else did')
})
