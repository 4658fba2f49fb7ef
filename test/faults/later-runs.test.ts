import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { limit_ms, Random, replay, seeds } from '../support/faults.ts'
import { makeMarkingHome } from '../support/marking.ts'
import {
  execute, request, skillet, startServer, type Answer, type Home, type RunningServer
} from '../support/program.ts'

t.setTimeout(limit_ms)

const serve = (home: Home): Promise<RunningServer> =>
  startServer(home, ['--no-bundled-skills', '--log-level', 'error', '--execution-asynchronous-max', '2'])

async function marksIn (file: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const mark of (await readFile(file, 'utf8')).split('\n').slice(0, -1)) {
    counts.set(mark, (counts.get(mark) ?? 0) + 1)
  }
  return counts
}

t.test('asynchronous runs that a killed server had accepted run once, or may have begun', async t => {
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const submitted = new Map<string, string>()
  for (const round of seeds(2, 30)) {
    const server = await serve(home)
    const random = new Random(round)
    await Promise.all(Array.from({ length: 40 }, async (_, i) => {
      const call = `round-${round}-${i}`
      const more = { asynchronous: true, priority: random.below(3) }
      const { status, body } = await execute(server.url, 'marking', 'slow', { call, file: marks }, more)
      t.equal(status, 202)
      submitted.set(String(body['execution_id']), call)
    }))
    await wait(random.below(100))
    await server.kill()
  }
  const server = await serve(home)
  t.teardown(() => server.stop())
  for (const [id, call] of submitted) {
    let execution: Record<string, unknown> = {}
    await until(async () => {
      execution = (await request(server.url, `/api/executions/${id}?wait=30`)).body
      return execution['finished_at'] !== null
    })
    const count = (await marksIn(marks)).get(call) ?? 0
    t.ok(count <= 1, `${call} ran ${count} times`)
    if (execution['status'] === 'success') t.equal(count, 1, call)
    else t.match(execution, { status: 'interrupted', queue: { handed_over_at: /./ } }, replay('later-runs', 0))
  }
})

t.test('calls with one key run once, over two processes, kills and restarts', async t => {
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const results = new Map<string, Set<string>>()
  const ask = async (url: string, call: string): Promise<Answer | undefined> => {
    const answer = await request(url, '/api/execute', undefined, {
      method: 'POST', headers: { 'content-type': 'application/json', 'idempotency-key': `"${call}"` },
      body: JSON.stringify({ skill_name: 'marking', tool_name: 'slow', parameters: { call, file: marks } })
    }).catch(() => undefined)
    const { error } = (answer?.body ?? {}) as { error?: { details: { execution_id: string } } }
    const id = answer?.body['execution_id'] ?? error?.details.execution_id
    if (id !== undefined) results.set(call, (results.get(call) ?? new Set()).add(String(id)))
    return answer
  }
  for (const round of seeds(2, 30)) {
    const server = await serve(home)
    const calls = Array.from({ length: 30 }, (_, i) => `key-${round}-${i % 10}`)
    const asking = Promise.all(calls.map(call => ask(server.url, call)))
    const [first = ''] = calls
    const beside = skillet(home, [
      'run', 'marking:slow', `call=${first}`, `file=${marks}`, '--idempotency-key', first, '--json',
      '--no-bundled-skills'
    ])
    await wait(new Random(round).below(120))
    await server.kill()
    await asking
    const { stdout } = await beside
    if (stdout.startsWith('{"execution_id"')) {
      results.get(first)?.add(String((JSON.parse(stdout) as Record<string, unknown>)['execution_id']))
    }
    const again = await serve(home)
    for (const call of new Set(calls)) {
      const answer = await ask(again.url, call)
      t.ok([200, 503].includes(answer?.status ?? 0), `${call}: ${JSON.stringify(answer?.body)}`)
    }
    await again.stop()
  }
  const counts = await marksIn(marks)
  for (const [call, ids] of results) {
    t.equal(ids.size, 1, `${call} is one execution`)
    t.ok((counts.get(call) ?? 0) <= 1, `${call} ran ${counts.get(call)} times`)
  }
})

t.test('a run in a process of its own outlives its command, and is waited for', async t => {
  const { home, marks } = await makeMarkingHome()
  t.teardown(home.remove)
  const words = ['marking:long', 'call=own', `file=${marks}`, '--no-bundled-skills', '--async']
  const { stdout, status } = await skillet(home, ['run', ...words])
  t.equal(status, 0)
  const id = stdout.trim()
  t.match(id, /^[0-9a-f-]{36}$/)
  t.match(await skillet(home, ['wait', id]), { status: 0, stdout: 'own\n' })
  t.equal((await marksIn(marks)).get('own'), 1)
})
