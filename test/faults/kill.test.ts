import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { isFinal } from '../../kernel/index.ts'
import lmdb from '../../plugins/storage-lmdb/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'
import { limit_ms, Random, replay, seeds } from '../support/faults.ts'
import { makeMarkingHome } from '../support/marking.ts'
import { execute, startServer } from '../support/program.ts'

t.setTimeout(limit_ms)

const clients = 16

/**
 * Calls tools until the server is gone.
 * @param acknowledged gets the id of each acknowledged execution, with its call
 */
async function drive (
  url: string, round: number, marks: string, random: Random, acknowledged: Map<string, string>
): Promise<void> {
  await Promise.all(Array.from({ length: clients }, async (_, client) => {
    for (let i = 0; ; i++) {
      const call = `round-${round}-${client}-${i}`
      try {
        const { status, body } =
          await execute(url, 'marking', random.below(3) === 0 ? 'slow' : 'fast', { call, file: marks })
        if (status === 200) acknowledged.set(String(body['execution_id']), call)
      } catch {
        return // the server is gone
      }
    }
  }))
}

t.test('a server that is killed under load loses nothing that it acknowledged, and runs nothing twice', async t => {
  t.setTimeout(0)
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const all = new Map<string, string>()
  const rounds = seeds(2, 60)
  for (const round of rounds) {
    const random = new Random(round)
    const again = replay('kill', round)
    const server = await startServer(home, ['--no-bundled-skills', '--log-level', 'error'])
    const acknowledged = new Map<string, string>()
    const driving = drive(server.url, round, marks, random, acknowledged)
    // Some rounds end before the first reply.
    const wanted = random.below(5) === 0 ? 0 : 1 + random.below(200)
    await until(() => acknowledged.size >= wanted)
    await wait(random.below(30))
    await server.kill()
    await driving
    for (const [id, call] of acknowledged) all.set(id, call)
    t.match(server.stderr(), /^$/, again)
    const { service, close } = await openPlugin(lmdb, { data_dir: home.data_dir })
    const lost: string[] = []
    for (const [id, call] of acknowledged) {
      const stored = await service.get(id)
      if (stored === undefined || stored.execution.parameters['call'] !== call || !isFinal(stored.execution.status)) {
        lost.push(id)
      }
    }
    t.same(lost, [], `${acknowledged.size} were acknowledged; ${again}`)
    await close()
  }
  const lines = (await readFile(marks, 'utf8')).trimEnd().split('\n')
  t.equal(new Set(lines).size, lines.length, 'nothing ran twice')
  t.ok(all.size >= rounds.length, `${all.size} executions were acknowledged in ${rounds.length} rounds`)
  // The last start ends what the killed servers left, and all of the rounds before is still there.
  const server = await startServer(home, ['--no-bundled-skills', '--log-level', 'error'])
  t.equal(await server.stop(), 0)
  const { service, close } = await openPlugin(lmdb, { data_dir: home.data_dir })
  t.same(await service.unfinished(), [])
  const found = await Promise.all([...all.keys()].map(id => service.get(id)))
  t.equal(found.filter(stored => stored === undefined).length, 0)
  await close()
  t.equal((await readFile(marks, 'utf8')).trimEnd().split('\n').length, lines.length, 'a start runs nothing again')
})
