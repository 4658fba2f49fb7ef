import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { makeHome, request, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

t.test('keys are made, used, limited and revoked while the server runs', async t => {
  const home = await makeHome()
  t.teardown(() => home.remove())
  const none = await skillet(home, ['serve', '--auth-required', '--port', '0'])
  t.match(none.stderr, /skillet key create NAME/)
  t.not(none.status, 0)

  const made = await skillet(home, ['key', 'create', 'first', '--json'])
  const { key: first, file } = JSON.parse(made.stdout) as { key: string, file: string }
  t.match(first, /^sk_[\w-]{43}$/)
  // Polling with a key that is not there yet, or no more, would itself be limited.
  const server = await startServer(home, ['--auth-required'], {
    env: { SKILLET_SERVER_FAILED_AUTH_LIMIT_PER_MINUTE: '0' }
  })
  t.teardown(() => server.kill())
  const ask = async (
    key: string,
    path = '/api/skills',
    body?: unknown
  ): Promise<{ status: number, body: Record<string, unknown> }> =>
    await request(server.url, path, body, { headers: { 'x-api-key': key, 'content-type': 'application/json' } })
  t.equal((await ask(first)).status, 200)

  const second = (await skillet(home, [
    'key', 'create', 'second', '--scope', 'execute', '--skill', 'text', '--rate-limit-per-minute', '3'
  ])).stdout.trim()
  const run = (key: string): ReturnType<typeof ask> =>
    ask(key, '/api/execute', { skill_name: 'text', tool_name: 'count', parameters: { text: 'a' } })
  await until(async () => (await ask(second)).status === 403)
  const { status, body } = await run(second)
  t.equal(status, 200)
  t.equal((await ask(first, `/api/executions/${String(body['execution_id'])}`)).body['key'], 'second')
  await until(async () => (await run(second)).status === 429)

  const listed = await skillet(home, ['key', 'list', '--json'])
  t.match(JSON.parse(listed.stdout), { keys: [
    { name: 'first', skills: [] },
    { name: 'second', scopes: ['execute'], skills: ['text'], rate_limit_per_minute: 3 }
  ] })
  for (const text of [listed.stdout, await readFile(file, 'utf8'), server.stderr()]) {
    for (const key of [first, second]) t.notOk(text.includes(key), 'no key is written anywhere')
  }

  const good = await readFile(file, 'utf8')
  await writeFile(file, 'broken = [')
  await until(() => server.stderr().includes('could not be read'))
  t.equal((await ask(first)).status, 200, 'a broken file takes no key away')
  await writeFile(file, good)
  t.equal((await skillet(home, ['key', 'revoke', 'first'])).status, 0)
  await until(async () => (await ask(first)).status === 401)
  t.match((await skillet(home, ['key', 'revoke', 'first'])).stderr, /there is no key "first"/)
  t.equal((await skillet(home, ['key', 'create', 'default'])).status, 2, 'a reserved name')
  t.equal(await server.stop(), 0)
})
