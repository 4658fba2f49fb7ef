import { createServer } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { definePlugin, silentLogger } from '../../../kernel/index.ts'
import { chooseEngine } from '../../../plugins/http/engine/engine.ts'
import { until } from '../../../plugins/testing/until.ts'
import { eachEngine, engines, openServer, requestOf, uwsExpected } from './support.ts'
import { Wire } from './wire.ts'

t.test('uWebSockets.js serves where it has a binary', { skip: !uwsExpected && 'no binary for this Node' }, async t => {
  const server = await openServer({ engine: 'auto' })
  t.equal(server.transport.engine, 'uWebSockets.js')
  t.match(server.logged.filter(({ message }) => message.startsWith('listening')), [
    { level: 'info', message: `listening at http://127.0.0.1:${server.port} (uWebSockets.js)` }
  ])
  t.same(server.kernel.urls, [`http://127.0.0.1:${server.port}`])
  t.notOk(server.logged.some(({ level }) => level === 'warn'))
  await server.stop()
})

t.test('node:http serves where it has none, with a warning', async t => {
  const missing = (): Promise<never> => Promise.reject(new Error('no binary'))
  const warnings: unknown[] = []
  const log = { ...silentLogger, warn: (fields: object) => { warnings.push(fields) } }
  t.equal((await chooseEngine('auto', log, missing)).name, 'node:http')
  t.match(warnings, [{ reason: 'no binary' }])
  await t.rejects(chooseEngine('uws', log, missing), { message: 'uWebSockets.js does not load: no binary' })
  t.equal((await chooseEngine('node', log, missing)).name, 'node:http')
  t.equal(warnings.length, 1)
})

t.test('a port in use is named', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const port = typeof address === 'object' ? address?.port : undefined
  for (const engine of engines) {
    await t.rejects(
      openServer({ engine, server: { port } }),
      { message: new RegExp(`can't listen at http://127.0.0.1:${port}: the port is in use`) },
      engine
    )
    await t.rejects(
      openServer({ engine, server: { host: '192.0.2.1', port, allow_insecure: true } }),
      { message: /can't listen at http:\/\/192\.0\.2\.1/ },
      engine
    )
    // Two servers of one engine: uWebSockets.js would let them share the port.
    const first = await openServer({ engine })
    await t.rejects(openServer({ engine, server: { port: first.port } }), { message: /the port is in use/ }, engine)
    await first.stop()
  }
  other.close()
})

for (const engine of engines) {
  void t.test(`stopping answers what was accepted (${engine})`, async t => {
    let finish: () => void = () => {}
    const server = await openServer({
      engine, tools: { slow: () => new Promise(resolve => { finish = () => { resolve('done') } }) }
    })
    const { port } = server
    const host = { Host: `127.0.0.1:${port}` }
    const [running, idle, probing, posting] =
      await Promise.all([server.wire(), server.wire(), server.wire(), server.wire()])
    for (const wire of [idle, probing, posting]) {
      t.equal((await wire.write(requestOf('GET', '/readyz', host)).read()).status, 200)
    }
    running.write(requestOf('POST', '/api/execute', { ...host, 'Content-Type': 'application/json' }, {
      skill_name: 'demo', tool_name: 'slow', parameters: {}
    }))
    await until(async () => (await server.ask('GET', '/api/executions?status=running')).json['total'] === 1)

    const stopped = server.stop()
    await until(() => Wire.open(port).then(wire => {
      wire.destroy()
      return false
    }, () => true))
    t.pass('no connection is accepted')
    const refused = posting.write(requestOf('POST', '/api/execute', { ...host, 'Content-Type': 'application/json' }, {
      skill_name: 'demo', tool_name: 'echo', parameters: { text: 'x' }
    }))
    if (engine === 'uws') {
      const answer = await refused.read()
      server.check('POST', '/api/execute', answer)
      t.match(
        [answer.status, answer.error.code, answer.headers.get('connection')],
        [503, 'OVERLOADED', 'close'],
        'a request on an open connection is refused'
      )
      t.ok(Number(answer.headers.get('retry-after')) > 0)
      t.equal((await probing.write(requestOf('GET', '/readyz', host)).read()).status, 503, 'it is not ready')
    } else {
      // node:http closes idle connections itself.
      await idle.ended()
      t.pass('idle connections are closed')
    }
    finish()
    const answer = await running.read()
    t.match([answer.status, answer.json['output']], [200, 'done'], 'what was accepted is answered')
    await running.ended()
    await idle.ended()
    await stopped
    t.pass('and then every connection is closed')
    for (const wire of [running, idle, probing, posting]) wire.destroy()
  })

  void t.test(`a reply on its way is sent whole before the server closes (${engine})`, async t => {
    const server = await openServer({ engine })
    const wire = await server.wire()
    wire.pause()
    wire.write(requestOf('POST', '/api/execute', { Host: 'localhost', 'Content-Type': 'application/json' }, {
      skill_name: 'demo', tool_name: 'big', parameters: { size: 500_000 }
    }))
    await until(async () => (await server.ask('GET', '/api/executions?status=success')).json['total'] === 1)
    const stopped = server.stop()
    wire.resume()
    t.equal(String((await wire.read()).json['output']).length, 500_000)
    await wire.ended()
    await stopped
    wire.destroy()
  })
}

eachEngine(t, 'probes tell alive from ready', {
  plugins: [definePlugin({ name: 'unwell', slot: 'skills', setup ({ health }) { return {
    async load () { queueMicrotask(() => { health.degrade('for the test') }); return { skills: [], quarantined: [] } }
  } } })]
}, async (t, { ask }) => {
  t.match((await ask('GET', '/api/health')).json, {
    status: 'degraded',
    plugins: [{}, {}, {}, {}, { name: 'unwell', state: 'degraded', reason: 'for the test' }, {}]
  })
  t.equal((await ask('GET', '/livez')).status, 200)
  t.equal((await ask('GET', '/readyz')).status, 503)
  t.equal((await ask('HEAD', '/livez')).status, 200)
})
