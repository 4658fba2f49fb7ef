import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject, type JsonObject } from '../../../kernel/index.ts'
import { until } from '../../../plugins/testing/until.ts'
import { eachEngine, openServer, engines, type TestServer } from './support.ts'

process.env['SERVICE_API_KEY'] = 'k3y-of-the-test'
t.teardown(() => { delete process.env['SERVICE_API_KEY'] })

/** A client at `/api/stream`. */
class Client {
  readonly frames: JsonObject[] = []
  readonly socket: WebSocket
  closed: number | undefined
  constructor (port: number, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/api/stream`, { headers })
    this.socket.on('message', data => { this.frames.push(JSON.parse(String(data)) as JsonObject) })
    this.socket.on('close', code => { this.closed = code })
    this.socket.on('error', () => {})
  }

  async opened (): Promise<this> {
    await new Promise((resolve, reject) => { this.socket.once('open', resolve).once('error', reject) })
    return this
  }

  send (frame: unknown): void {
    this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame))
  }

  of (type: string): JsonObject[] {
    return this.frames.filter(frame => frame['type'] === type)
  }

  /** The events of a subscription. */
  events (id: string): JsonObject[] {
    return this.of('event')
      .flatMap(({ id: of, event }): JsonObject[] => of === id && isObject(event) ? [event] : [])
  }
}

async function connect (t: Test, { port }: TestServer, headers?: Record<string, string>): Promise<Client> {
  const client = await new Client(port, headers).opened()
  t.teardown(() => { client.socket.terminate() })
  return client
}

const call = (tool_name: string, parameters: object): object => ({ skill_name: 'demo', tool_name, parameters })

eachEngine(t, 'subscriptions to an execution, a skill and all receive events', {}, async (t, server) => {
  const client = await connect(t, server)
  client.send({ type: 'subscribe', id: 'skill', skill_name: 'demo' })
  client.send({ type: 'subscribe', id: 'all', all: true })
  client.send({ type: 'subscribe', id: 'other', skill_name: 'other' })
  await until(() => client.of('subscribed').length === 3)
  const { json } = await server.post('/api/execute', call('echo', { text: 'héllo' }))
  const id = String(json['execution_id'])
  await until(() => client.events('all').some(({ type }) => type === 'end'))
  for (const name of ['skill', 'all']) {
    t.match(client.events(name).map(({ type, status, text }) => [type, status ?? text]), [
      ['transition', 'queued'], ['transition', 'running'], ['stdout', 'héllo'], ['transition', 'success'],
      ['end', 'success']
    ], name)
  }
  t.same(client.events('other'), [])
  client.send({ type: 'subscribe', id: 'one', execution_id: id, after: client.events('nobody')[0]?.['id'] })
  await until(() => client.of('ended').length === 1)
  t.equal(client.events('one').length, 5)
  const third = client.events('one')[2]?.['id']
  client.send({ type: 'subscribe', id: 'rest', execution_id: id, after: third })
  await until(() => client.of('ended').length === 2)
  t.same(client.events('rest'), client.events('one').slice(3))
  client.send({ type: 'unsubscribe', id: 'all' })
  await until(() => client.of('ended').some(frame => frame['id'] === 'all'))
  await server.post('/api/execute', call('echo', { text: 'again' }))
  await until(() => client.events('skill').length === 10)
  t.equal(client.events('all').length, 5)
})

eachEngine(t, 'every bad message has its answer, and harms no other', {}, async (t, server) => {
  const client = await connect(t, server)
  const bad: [unknown, string, string?][] = [
    ['{', 'INVALID_PARAMETERS'], ['[]', 'INVALID_PARAMETERS'], [{ type: 'x' }, 'INVALID_PARAMETERS'],
    [Buffer.from('{"type":"subscribe"}'), 'INVALID_PARAMETERS'], [{ type: 'subscribe', id: 'a' }, 'INVALID_PARAMETERS'],
    [{ type: 'subscribe', id: 'a', all: true, skill_name: 'x' }, 'INVALID_PARAMETERS', 'a'],
    [{ type: 'subscribe', id: 'a', all: true, more: 1 }, 'INVALID_PARAMETERS'],
    [{ type: 'subscribe', id: 'a', execution_id: 'nobody' }, 'EXECUTION_NOT_FOUND', 'a'],
    [{ type: 'subscribe', id: 'a', all: true, after: 'nobody' }, 'INVALID_PARAMETERS', 'a'],
    [{ type: 'unsubscribe', id: 'a' }, 'NOT_FOUND', 'a'],
    [`${'['.repeat(5_000)}${']'.repeat(5_000)}`, 'INVALID_PARAMETERS']
  ]
  for (const [frame, code, id] of bad) {
    const before = client.frames.length
    client.send(frame)
    await until(() => client.frames.length > before)
    const wanted = { type: 'error', error: { code }, ...(id !== undefined && { id }) }
    t.match(client.frames.at(-1), wanted, JSON.stringify(frame))
  }
  client.send({ type: 'subscribe', id: 'a', all: true })
  await until(() => client.of('subscribed').length === 1)
  client.send({ type: 'subscribe', id: 'a', all: true })
  await until(() => client.of('error').length === bad.length + 1)
  t.match(client.frames.at(-1), { error: { code: 'CONFLICT' } })
  const large = await connect(t, server)
  large.send('x'.repeat(20_000))
  await until(() => large.closed !== undefined)
  const noisy = await connect(t, server)
  for (let n = 0; n < 200; n++) noisy.send('{')
  await until(() => noisy.closed !== undefined)
  t.equal(noisy.closed, 1008)
  await server.post('/api/execute', call('echo', { text: 'still' }))
  await until(() => client.events('a').some(({ type }) => type === 'end'))
})

eachEngine(t, 'a WebSocket passes the checks of every request', {
  server: { auth_required: true }
}, async (t, server) => {
  for (const headers of [{}, { 'X-API-Key': 'wrong' }]) {
    await t.rejects(new Client(server.port, headers).opened(), { message: /401/ })
  }
  const key = { 'X-API-Key': process.env['SERVICE_API_KEY'] ?? '' }
  await t.rejects(new Client(server.port, { ...key, Origin: 'https://evil.example' }).opened(), { message: /403/ })
  await t.rejects(new Client(server.port, { ...key, Host: 'evil.example' }).opened(), { message: /403/ })
  const client = await connect(t, server, key)
  client.send({ type: 'subscribe', id: 'a', all: true })
  await until(() => client.of('subscribed').length === 1)
  const plain = await server.ask('GET', '/api/stream', { headers: key })
  t.equal(plain.status, 400)
  await server.stop()
  await until(() => client.closed !== undefined)
})

eachEngine(t, 'only so many streams are open at once, and one caller has half of them', {
  server: { streams_max: 4 }
}, async (t, server) => {
  const two = [await connect(t, server), await connect(t, server)]
  await t.rejects(new Client(server.port).opened(), { message: /503/ })
  t.match(await server.ask('GET', '/api/executions/x/events'), { status: 503, error: { code: 'OVERLOADED' } })
  two[0]?.socket.close()
  await until(async () => (await server.ask('GET', '/api/executions/x/events')).status === 404)
})

eachEngine(t, 'a client that offers another protocol is answered as ever', {}, async (t, server) => {
  const offer = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' }
  const { status, json } = await server.post('/api/execute', call('echo', { text: 'plain' }), offer)
  t.match([status, json['output']], [200, 'plain'])
})

eachEngine(t, 'a client that never reads holds bounded memory and is told what it missed', {
  tools: {
    chatty: async (_parameters, { log, signal }) => {
      for (let n = 0; n < 6_000 && !signal.aborted; n++) {
        log('info', `${n} ${'x'.repeat(3_000)}`)
        if (n % 50 === 0) await new Promise(resolve => { setImmediate(resolve) })
      }
      return 'done'
    }
  }
}, async (t, server) => {
  const client = await connect(t, server)
  client.send({ type: 'subscribe', id: 'a', skill_name: 'demo' })
  await until(() => client.of('subscribed').length === 1)
  client.socket.pause()
  const { status } = await server.post('/api/execute', call('chatty', {}))
  t.equal(status, 200)
  client.socket.resume()
  await until(() => client.events('a').some(({ type }) => type === 'end'))
  const events = client.events('a')
  const missed = events.flatMap(({ missed }) => isObject(missed) ? [missed] : [])
  t.ok(missed.length > 0)
  const lines = events.filter(({ type }) => type === 'log').map(({ text }) => Number.parseInt(String(text), 10))
  t.same(lines, lines.toSorted((one, other) => one - other), 'in order')
  t.equal(new Set(lines).size, lines.length, 'none twice')
  const lost = missed.reduce((sum, of) => sum + Number(of['events'] ?? 0) + Number(of['log'] ?? 0), 0)
  t.equal(lines.length + lost, 6_000)
})

t.test('the AsyncAPI document describes what is sent', async t => {
  const server = await openServer({ engine: 'node' })
  t.teardown(() => server.stop())
  const { json } = await server.ask('GET', '/api/asyncapi.json')
  t.match(json, { asyncapi: '3.0.0', channels: { stream: { address: '/api/stream' } } })
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(json, 'doc')
  const check = ajv.getSchema('doc#/components/messages/event/payload')
  const client = await connect(t, server)
  client.send({ type: 'subscribe', id: 'all', all: true })
  await until(() => client.of('subscribed').length === 1)
  await server.post('/api/execute', call('echo', { text: 'x' }))
  await until(() => client.events('all').some(({ type }) => type === 'end'))
  for (const frame of client.of('event')) t.ok(check?.(frame), ajv.errorsText(check?.errors))
  t.notOk(check?.({ type: 'event', id: 'all', event: { type: 'stdout' } }))
  for (const [name, channel] of Object.entries(isObject(json['channels']) ? json['channels'] : {})) {
    const messages = isObject(channel) && isObject(channel['messages']) ? Object.values(channel['messages']) : []
    t.ok(messages.length > 0, name)
    for (const message of messages) {
      const [, , kind = '', key = ''] = String(isObject(message) ? message['$ref'] : '').split('/')
      t.match(json['components'], { [kind]: { [key]: { payload: Object } } }, `${name} ${key}`)
    }
  }
})

void t.test('both engines', async t => {
  for (const engine of engines) {
    const server = await openServer({ engine })
    t.equal(server.transport.engine, engine === 'uws' ? 'uWebSockets.js' : 'node:http')
    await server.stop()
  }
})
