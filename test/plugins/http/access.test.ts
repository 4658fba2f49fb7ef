import t from 'tap'
import { isLoopback, OwnHosts } from '../../../plugins/http/access/hosts.ts'
import { Origins } from '../../../plugins/http/access/origins.ts'
import { eachEngine, openServer, requestOf } from './support.ts'

const search = { query: 'words' }

t.test('origins are told by parsing, never by prefix', async t => {
  const local = new Origins(['local', 'https://app.example:8443'], false)
  const host = '127.0.0.1:3000'
  for (const origin of [
    'http://localhost', 'http://localhost:5173', 'https://localhost:1', 'http://127.0.0.1:8080', 'http://[::1]:99',
    'https://app.example:8443'
  ]) {
    t.ok(local.allows(origin, host), origin)
  }
  for (const origin of [
    'null', '', 'http://localhost.evil.example', 'http://localhost:80@evil.example', 'http://evil.example/localhost',
    'http://127.0.0.1.nip.io',
    'http://evil.example#localhost', 'file://localhost', 'https://app.example', 'http://app.example:8443',
    'https://app.example:8443.evil.example', 'chrome-extension://localhost'
  ]) t.notOk(local.allows(origin, host), origin)
  const strict = new Origins([], false)
  t.ok(strict.allows('http://127.0.0.1:3000', host), 'the own pages may always')
  t.ok(strict.allows('https://tunnel.example', 'tunnel.example'), 'behind a tunnel too')
  t.notOk(strict.allows('http://127.0.0.1:3001', host), 'another port is another origin')
  t.throws(() => new Origins(['*'], false), /auth_required/)
  t.ok(new Origins(['*'], true).allows('null', host))
  for (const entry of ['example.com', 'https://example.com/', 'https://example.com/path', 'ftp://example.com']) {
    t.throws(() => new Origins([entry], false), /is no origin/, entry)
  }
})

t.test('hosts are the own names with any port', async t => {
  const hosts = new OwnHosts('127.0.0.1', ['Skillet.Example'])
  for (const host of [
    '127.0.0.1', '127.0.0.1:3000', 'localhost', 'LOCALHOST:1', '[::1]:3000', 'skillet.example', 'skillet.example:443'
  ]) {
    t.ok(hosts.has(host), host)
  }
  for (const host of [
    '', 'evil.example', 'evil.example:3000', 'localhost.evil.example', '127.0.0.1.nip.io', 'localhost:x',
    'localhost:3000:1', 'a@localhost', 'localhost/', '192.168.1.1', '0.0.0.0', '[::1', 'localhost evil.example'
  ]) {
    t.notOk(hosts.has(host), host)
  }
  const any = new OwnHosts('0.0.0.0', [])
  t.ok(any.has('127.0.0.1:80'))
  t.notOk(any.has('192.0.2.1'), 'an address that is not this machine\'s')
  t.throws(() => new OwnHosts('127.0.0.1', ['http://a']), /allowed_hosts/)
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]', '0:0:0:0:0:0:0:1']) {
    t.ok(isLoopback(host), host)
  }
  for (const host of ['0.0.0.0', '::', '192.168.1.1', '127.0.0.1.nip.io', 'example.com']) {
    t.notOk(isLoopback(host), host)
  }
})

eachEngine(t, 'a page of another origin can run nothing', {}, async (t, { ask, post, port, kernel }) => {
  const forbidden = async (answer: ReturnType<typeof ask>, message: string): Promise<void> => {
    const { status, error, headers } = await answer
    t.match([status, error.code, headers.get('access-control-allow-origin')], [403, 'FORBIDDEN', undefined], message)
  }
  await forbidden(
    ask('GET', '/api/health', { headers: { Host: `evil.example:${port}` } }),
    'a name that was made to resolve to this machine'
  )
  await forbidden(ask('GET', '/nothing', { headers: { Host: 'evil.example' } }), 'before routing')
  await forbidden(
    post(
      '/api/execute',
      { skill_name: 'demo', tool_name: 'echo', parameters: { text: 'x' } },
      { Origin: 'https://evil.example' }
    ),
    'foreign origin'
  )
  await forbidden(post('/api/execute', {}, { Origin: 'null' }), 'a sandboxed frame or a file')
  await forbidden(post('/api/search', search, { Origin: 'http://localhost.evil.example' }), 'a prefix is no origin')
  await forbidden(post('/api/search', search, { 'Sec-Fetch-Site': 'cross-site' }), 'a browser that left the origin out')
  await forbidden(post('/api/nothing', {}, { Origin: 'https://evil.example' }), 'before routing')
  await forbidden(
    ask('OPTIONS', '/api/execute', {
      headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
    }),
    'preflight'
  )
  t.match((await ask('GET', '/api/executions')).json, { total: 0 }, 'nothing has run')

  const read = await ask('GET', '/api/health', { headers: { Origin: 'https://evil.example' } })
  t.match(
    [read.status, read.headers.get('access-control-allow-origin')],
    [200, undefined],
    'a foreign page may ask, and not read'
  )
  t.equal((await post('/api/search', search)).status, 200, 'a program has no origin')
  t.equal(kernel.plugins().find(({ name }) => name === 'http')?.state, 'ready')
})

eachEngine(t, 'pages of allowed origins', {
  server: { cors_origins: ['local', 'https://app.example'], allowed_hosts: ['skillet.example'] }
}, async (t, { ask, post }) => {
  for (const Origin of ['http://localhost:5173', 'https://app.example']) {
    const preflight = await ask('OPTIONS', '/api/execute', { headers: {
      Origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type, mcp-param-region, x-other'
    } })
    t.equal(preflight.status, 204)
    t.equal(preflight.headers.get('access-control-allow-origin'), Origin)
    t.match(preflight.headers.get('access-control-allow-methods'), 'POST')
    for (const name of ['content-type', 'authorization', 'x-api-key', 'prefer', 'idempotency-key']) {
      t.match(preflight.headers.get('access-control-allow-headers'), name)
    }
    t.match(
      preflight.headers.get('access-control-allow-headers'),
      /, mcp-param-region$/,
      'parameters of tools too, and nothing else that was asked for'
    )
    t.match(preflight.headers.get('access-control-max-age'), /^\d+$/)
    t.equal(preflight.headers.get('content-length'), undefined)
    for (const answer of [
      await post('/api/search', search, { Origin }),
      await post('/api/search', {}, { Origin }),
      await ask('GET', '/api/nothing', { headers: { Origin } })
    ]) {
      t.equal(answer.headers.get('access-control-allow-origin'), Origin, 'errors can be read too')
      t.equal(answer.headers.get('vary'), 'Origin')
      t.equal(answer.headers.get('access-control-allow-credentials'), undefined)
    }
  }
  t.equal(
    (await post('/api/search', search, { Host: 'skillet.example', Origin: 'https://skillet.example' })).status,
    200,
    'the own page behind a tunnel'
  )
  t.match((await ask('OPTIONS', '/api/health')).headers.get('allow'), 'GET, HEAD, OPTIONS')
})

t.test('with a key', async t => {
  process.env['SERVICE_API_KEY'] = 'k3y-of-the-test'
  t.teardown(() => { delete process.env['SERVICE_API_KEY'] })
  eachEngine(t, 'all but probes and pages needs it', {
    server: { auth_required: true, cors_origins: ['*'] }
  }, async (t, { ask, post, wire }) => {
    for (const headers of [
      {},
      { Authorization: 'Bearer wrong' },
      { Authorization: 'Basic k3y-of-the-test' },
      { 'X-API-Key': '' },
      { 'X-API-Key': 'k3y-of-the-tes' },
      { Authorization: 'Bearer' },
      { Authorization: 'Bearer k3y-of-the-test', 'X-API-Key': 'another' },
      { Authorization: 'Bearer another', 'X-API-Key': 'k3y-of-the-test' }
    ]) {
      const answer = await ask('GET', '/api/health', { headers })
      t.match(
        [answer.status, answer.error.code, answer.headers.get('www-authenticate')],
        [401, 'UNAUTHORIZED', /^Bearer/],
        JSON.stringify(headers)
      )
    }
    t.equal((await ask('POST', '/api/execute', { body: 'not even JSON' })).status, 401, 'before the body is looked at')
    t.equal((await ask('GET', '/api/openapi.json')).status, 401)
    for (const headers of [
      { Authorization: 'Bearer k3y-of-the-test' }, { Authorization: 'bearer k3y-of-the-test' },
      { 'X-API-Key': 'k3y-of-the-test' }
    ]) {
      t.equal((await post('/api/search', search, headers)).status, 200, JSON.stringify(headers))
    }
    for (const path of ['/livez', '/readyz', '/', '/docs/api', '/docs/api/swagger-ui.css']) {
      t.equal((await ask('GET', path)).status, 200, path)
    }
    const page = await post('/api/search', search, { Origin: 'https://any.example', 'X-API-Key': 'k3y-of-the-test' })
    t.equal(page.headers.get('access-control-allow-origin'), 'https://any.example')
    const twice = await wire()
    t.equal((await twice.write('GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-API-Key: wrong\r\nX-API-Key: k3y-of-the-test\r\n\r\n').read()).status, 400)
    twice.destroy()
  })
  await t.test('the description says so', async t => {
    const server = await openServer({ engine: 'node', server: { auth_required: true } })
    t.teardown(() => server.stop())
    const { json } = await server.ask('GET', '/api/openapi.json', { headers: { 'X-API-Key': 'k3y-of-the-test' } })
    t.match(json, {
      components: { securitySchemes: { bearer: {}, key: {} } },
      security: [{ bearer: [] }, { key: [] }],
      paths: { '/api/health': { get: { responses: { 401: {} } } } }
    })
  })
})

t.test('what is refused at start', async t => {
  const refused = async (server: Record<string, unknown>, message: RegExp): Promise<void> => {
    await t.rejects(openServer({ engine: 'node', server }), { message })
  }
  await refused({ host: '0.0.0.0' }, /0\.0\.0\.0 is reachable from other machines: set server\.auth_required/)
  await refused({ host: '::' }, /reachable from other machines/)
  await refused({ auth_required: true }, /skillet key create NAME.*SERVICE_API_KEY/)
  await refused({ trusted_proxies: ['10.0.0.0/8', 'proxy'] }, /"proxy" is neither an address nor a range/)
  await refused({ cors_origins: ['*'] }, /"\*" only with server\.auth_required/)
  await refused({ allowed_hosts: ['a b'] }, /"a b" is not a host name/)
  const open = await openServer({ engine: 'node', server: { host: '0.0.0.0', allow_insecure: true } })
  t.equal(open.transport.url, `http://127.0.0.1:${open.port}`, 'the URL of a wildcard can be called')
  const connection = await open.wire()
  t.equal((await connection.write(requestOf('GET', '/livez', { Host: '192.0.2.1' })).read()).status, 403)
  connection.destroy()
  await open.stop()
})
