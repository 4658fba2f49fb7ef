import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { writeSkills } from '../support/e2e-skills.ts'
import { execute, makeHome, node, request, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'
import { glibcOf, hasUws } from '../support/uws.ts'

const home = await makeHome()
await writeSkills(home.skills)
t.teardown(home.remove)

t.test('every endpoint answers', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const { url } = server

  const health = await request(url, '/api/health')
  t.match(health, {
    status: 200,
    body: { status: 'healthy', version: String, uptime_seconds: Number, api_version: String, service_version: String }
  })
  t.match(health.body['quarantined'], [{ name: 'broken', error: /tools must be array/ }], 'the broken skill is named')

  const manifest = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  t.match(await request(url, '/api/version'), {
    status: 200,
    body: { version: manifest.version, commit: String, build_date: /^\d{4}-\d{2}-\d{2}$/ }
  })

  const { body: { skills } } = await request(url, '/api/skills')
  t.same((skills as { name: string }[]).map(({ name }) => name), [
    'command', 'data', 'files', 'git', 'hash', 'http', 'math', 'sqlite', 'system', 'temper', 'text', 'time', 'web'
  ])
  t.match(await request(url, '/api/skills/text'), {
    status: 200,
    body: { name: 'text', runtime: 'script', tools: Array }
  })
  t.match(await request(url, '/api/skills/txt'), {
    status: 404,
    body: { success: false, error: { code: 'SKILL_NOT_FOUND', message: /did you mean "text"/ } }
  })

  const ran = await execute(url, 'temper', 'echo', { text: 'hé 👋' })
  t.match(ran, { status: 200, body: { status: 'success', output: 'hé 👋', duration_ms: Number, execution_id: String } })
  const id = String(ran.body['execution_id'])
  t.match(await request(url, `/api/executions/${id}`), {
    status: 200,
    body: { id, parameters: { text: 'hé 👋' }, output: 'hé 👋', transport: 'http', isolation: 'thread' }
  })
  t.match(await request(url, '/api/executions?limit=1'), {
    status: 200,
    body: { total: Number, executions: [{ id, status: 'success' }] }
  })
  t.match(await request(url, `/api/executions/${id}/cancel`, '', { headers: {} }), {
    status: 409,
    body: { error: { code: 'CONFLICT' } }
  })

  const { body: { results } } = await request(url, '/api/search', { query: 'sha256 digest of a file', top_k: 3 })
  t.match(results, [{ skill_name: 'hash', tool_name: String, description: String, score: Number }])

  t.match(await request(url, '/api/openapi.json'), { status: 200, body: { openapi: /^3\.1/, paths: Object } })
  for (const page of ['/', '/docs/api', '/docs/api/']) {
    const response = await fetch(`${url}${page}`)
    t.equal(response.status, 200, page)
    t.match(response.headers.get('content-type'), /text\/html/)
    t.notMatch(await response.text(), /(src|href)="(https?:)?\/\//, 'loads nothing from elsewhere')
  }
  t.equal((await fetch(`${url}/livez`)).status, 200)
  t.equal((await fetch(`${url}/readyz`)).status, 200)

  t.match(await execute(url, 'temper', 'fail'), {
    status: 422,
    body: { error: {
      code: 'TOOL_EXECUTION_FAILED',
      message: /out of luck/,
      details: { skill: 'temper', tool: 'fail', execution_id: String }
    } }
  })
  t.match(await execute(url, 'command', 'false'), {
    status: 422,
    body: { error: { details: { exit_code: 3, stderr: /why/ } } }
  })
  t.match(await execute(url, 'command', 'missing'), { status: 422, body: { error: { details: { exit_code: 127 } } } })
  t.match(await execute(url, 'temper', 'hang', {}, { timeout_ms: 50 }), {
    status: 504,
    body: { error: { code: 'TIMEOUT', details: { timeout_ms: 50 } } }
  })
  t.match(await execute(url, 'temper', 'exit'), { status: 422 })
  t.match(await execute(url, 'temper', 'hush', { key: 'canary-value' }), { status: 200, body: { output: '12' } })
  t.notMatch(JSON.stringify((await request(url, '/api/executions?limit=1')).body) + server.stderr(), 'canary-value')
  t.match(await execute(url, 'git', 'log', { repository: process.cwd(), count: 1 }), { status: 200 })
  t.equal(await server.stop(), 0, 'it ends in order')
})

t.test('uWebSockets.js serves where it has a binary for this Node, and node:http elsewhere', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const report = JSON.parse(
    execFileSync(node, ['-p', 'JSON.stringify(process.report.getReport())'], { encoding: 'utf8' })
  ) as { header: { nodejsVersion: string } }
  const uws = hasUws(report.header.nodejsVersion.slice(1), glibcOf(report))
  t.match(server.stderr(), uws ? /listening at .*\(uWebSockets\.js\)/ : /listening at .*\(node:http\)/)
})

t.test('a server that is told to stop lets its executions finish, and answers them', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const answer = execute(server.url, 'command', 'sleep', { seconds: 1 })
  await until(async () => (await request(server.url, '/api/executions?status=running')).body['total'] === 1)
  const stopped = server.stop()
  t.match(await answer, { status: 200, body: { status: 'success' } })
  t.equal(await stopped, 0)
})

t.test('signals that come together are one; a later one ends the server at once', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const signal = (name: NodeJS.Signals): void => { process.kill(server.pid, name) }
  const answer = execute(server.url, 'command', 'sleep', { seconds: 1 })
  await until(async () => (await request(server.url, '/api/executions?status=running')).body['total'] === 1)
  const stopped = server.stop()
  signal('SIGINT')
  signal('SIGINT')
  t.match(await answer, { status: 200, body: { status: 'success' } })
  t.equal(await stopped, 0)

  const hurried = await startServer(home)
  t.teardown(hurried.kill)
  const lost = execute(hurried.url, 'command', 'sleep', { seconds: 3600 })
  lost.catch(() => {}) // its connection ends
  await until(async () => (await request(hurried.url, '/api/executions?status=running')).body['total'] === 1)
  const ended = hurried.stop()
  let over = false
  void ended.finally(() => { over = true })
  const again = setInterval(() => { if (!over) process.kill(hurried.pid, 'SIGTERM') }, 100)
  t.teardown(() => { clearInterval(again) })
  t.equal(await ended, 130)
})

t.test('what can not finish in the drain is interrupted, and its processes are gone', async t => {
  const server = await startServer(home, ['--execution-drain-ms', '0'])
  t.teardown(server.kill)
  const answer = execute(server.url, 'command', 'sleep', { seconds: 3600 })
  await until(async () => (await request(server.url, '/api/executions?status=running')).body['total'] === 1)
  const stopped = server.stop()
  t.match(await answer, { status: 503, body: { error: { code: 'INTERRUPTED' } } })
  t.equal(await stopped, 0)
  const { stdout } = await skillet(home, ['list', '--json'])
  t.ok(stdout, 'the data directory is free again')
})

t.test('a second server on the data directory is refused, naming the first; the command line is not', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const second = await skillet(home, ['serve', '--port', '0'])
  t.equal(second.status, 5)
  t.match(second.stderr, `process ${server.pid} already serves the data directory`)
  t.match(second.stderr, server.url)
  const ran = await skillet(home, ['run', 'temper:echo', 'text=from the command line', '--json'])
  t.equal(ran.status, 0)
  const { execution_id } = JSON.parse(ran.stdout) as { execution_id: string }
  t.match(await request(server.url, `/api/executions/${execution_id}`), {
    status: 200,
    body: { transport: 'cli', output: 'from the command line' }
  })

  let child
  const waiting = skillet(home, ['run', 'temper:wait'], { running: started => { child = started } })
  await until(async () =>
    (await request(server.url, '/api/executions?status=running&tool_name=wait')).body['total'] === 1)
  const { body: { executions } } = await request(server.url, '/api/executions?status=running&tool_name=wait')
  const [{ id = '' } = {}] = executions as { id: string }[]
  t.match(
    await request(server.url, `/api/executions/${id}/cancel`, '', { headers: {} }),
    { status: 200, body: { status: 'cancelled' } },
    'the server reaches another process\'s run'
  )
  t.equal((await waiting).status, 5)
  t.ok(child)
})

t.test('killed during executions, it has all that was acknowledged, marks the rest, and runs nothing twice', async t => {
  const own = await makeHome()
  t.teardown(own.remove)
  await writeSkills(own.skills)
  const server = await startServer(own)
  const file = join(own.folder, 'lines')
  const acknowledged: string[] = []
  const killing = new AbortController()
  let asked = 0
  const client = async (): Promise<void> => {
    while (!killing.signal.aborted && asked < 5_000) {
      const line = String(asked++)
      const answer = await execute(server.url, 'temper', 'touch', { file, line }).catch(() => undefined)
      if (answer?.status === 200) acknowledged.push(String(answer.body['execution_id']))
    }
  }
  const clients = Array.from({ length: 8 }, client)
  const hanging = execute(server.url, 'command', 'sleep', { seconds: 3600 }).catch(() => undefined)
  await until(async () =>
    acknowledged.length > 100
    && (await request(server.url, '/api/executions?status=running&tool_name=sleep')).body['total'] === 1)
  killing.abort()
  await server.kill()
  await Promise.all([...clients, hanging])

  const again = await startServer(own)
  t.teardown(again.kill)
  for (const id of acknowledged) {
    const { body } = await request(again.url, `/api/executions/${id}`)
    if (body['status'] !== 'success') t.fail(`${id} was acknowledged and is ${String(body['status'])}`)
  }
  t.match(await request(again.url, '/api/executions?tool_name=sleep'), {
    body: { total: 1, executions: [{ status: 'interrupted' }] }
  })
  t.match(await request(again.url, '/api/executions?status=running'), { body: { total: 0 } })
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  t.equal(new Set(lines).size, lines.length, 'nothing ran twice')
  t.ok(lines.length >= acknowledged.length)
  t.ok(existsSync(own.data_dir))
  t.equal(await again.stop(), 0)
})

t.test('what a tool prints goes nowhere near the program\'s own output', async t => {
  const ran = await skillet(home, ['run', 'temper:print'])
  t.equal(ran.stdout, 'returned\n')
  t.match(ran.stderr, /printed/)
})

t.test('a start that can not succeed says why, and ends', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const port = new URL(server.url).port
  const elsewhere = ['--data-dir', join(home.folder, 'elsewhere')]
  const lanAddresses = Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address)
    .slice(0, 1)
  const cases: [string[], NodeJS.ProcessEnv, number, RegExp][] = [
    [['--port', port, ...elsewhere], {}, 5, /port is in use/],
    [['--host', '0.0.0.0', ...elsewhere], {}, 5, /auth_required/],
    ...['::', '0', hostname(), ...lanAddresses].map((host): [string[], NodeJS.ProcessEnv, number, RegExp] =>
      [['--host', host, ...elsewhere], {}, 5, /is reachable from other machines: set server\.auth_required/]),
    [['--auth-required', ...elsewhere], {}, 5, /SERVICE_API_KEY/],
    [['--port', 'many'], {}, 2, /server\.port must be integer/],
    [[], { SKILLET_SERVER_PROT: '1' }, 2, /did you mean "SKILLET_SERVER_PORT"/],
    [['--prot', '1'], {}, 2, /unknown option/]
  ]
  for (const [args, env, status, why] of cases) {
    const ended = await skillet(home, ['serve', ...args], { env })
    t.equal(ended.status, status, args.join(' '))
    t.match(ended.stderr, why)
    t.notMatch(ended.stderr, /\n\s+at /, 'no stack trace')
  }
})

t.test('with authentication required, only who has the key is served', async t => {
  const server = await startServer(home, ['--auth-required', '--data-dir', join(home.folder, 'with-key')], {
    env: { SERVICE_API_KEY: 'open-sesame' }
  })
  t.teardown(server.kill)
  t.match(await request(server.url, '/api/health'), { status: 401, body: { error: { code: 'UNAUTHORIZED' } } })
  t.match(await request(server.url, '/api/health', undefined, { headers: { authorization: 'Bearer open-sesame' } }), {
    status: 200
  })
  t.match(await request(server.url, '/api/health', undefined, { headers: { 'x-api-key': 'open-sesam' } }), {
    status: 401
  })
  t.equal((await fetch(`${server.url}/livez`)).status, 200)
})
