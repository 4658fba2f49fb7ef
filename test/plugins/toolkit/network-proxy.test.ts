import { once } from 'node:events'
import { createServer as createHttpServer, request, Agent, type IncomingMessage, type RequestListener } from 'node:http'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ProxyLimits } from '../../../plugins/toolkit/network/limits.ts'
import { NetworkList } from '../../../plugins/toolkit/network/network-list.ts'
import type { Pass } from '../../../plugins/toolkit/network/pass.ts'
import { NetworkProxy } from '../../../plugins/toolkit/network/proxy.ts'
import { until } from '../../../plugins/testing/until.ts'

t.setTimeout(120_000)

const portOf = (server: Server): number => (server.address() as AddressInfo).port // it listens on a port

/** A server of a test, and how often it was connected to. */
async function listen (
  t: Test, server: Server, host = '127.0.0.1', port = 0
): Promise<{ port: number, met: () => number }> {
  let met = 0
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    met++
    open.add(socket)
    socket.on('error', () => {}).once('close', () => { open.delete(socket) })
  })
  await once(server.listen(port, host), 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return { port: portOf(server), met: () => met }
}

const web = (t: Test, listener: RequestListener): ReturnType<typeof listen> => listen(t, createHttpServer(listener))
const echo = (t: Test): ReturnType<typeof listen> =>
  listen(t, createServer({ allowHalfOpen: true }, socket => { socket.pipe(socket) }))

interface Setup {
  /** What names resolve to, one after the other; the last one stays. */
  names?: Record<string, string[][]>
  limits?: Partial<ProxyLimits>
}

interface Opened {
  proxy: NetworkProxy
  port: number
  /** The value of `Proxy-Authorization` of a run with this list. */
  admit (list: readonly string[], room?: string): { pass: Pass, authorization: string, refused: string[] }
  /** Opens another listening socket. */
  door (room: string): Promise<number>
  /** How often a name was resolved. */
  resolved: string[]
}

async function open (t: Test, { names = {}, limits }: Setup = {}): Promise<Opened> {
  const resolved: string[] = []
  const proxy = new NetworkProxy({
    ...(limits !== undefined && { limits }),
    async resolve (host) {
      const answers = names[host]
      if (answers === undefined) throw new Error('ENOTFOUND')
      const addresses = answers[Math.min(resolved.filter(name => name === host).length, answers.length - 1)]
      resolved.push(host)
      return addresses ?? []
    }
  })
  t.teardown(() => { proxy.close() })
  const door = async (room: string): Promise<number> => portOf(await proxy.serve({ host: '127.0.0.1', port: 0 }, room))
  return {
    proxy, resolved, door, port: await door('room'),
    admit (list, room = 'room') {
      const refused: string[] = []
      const pass = proxy.admit({
        room, name: 'subject', list: new NetworkList(list), refused: message => { refused.push(message) }
      })
      const { password } = new URL(pass.variables(1)['HTTPS_PROXY'] ?? '')
      return { pass, refused, authorization: basic(`run:${password}`) }
    }
  }
}

const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`

/** Sends bytes, and gives all that comes back until the other end closes, or so much time has passed. */
async function say (port: number, text: string, wait_ms = 10_000): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write(text, 'latin1')
  let said = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => { said += chunk })
  await Promise.race([once(socket, 'close'), setTimeout(wait_ms, undefined, { ref: false })])
  socket.destroy()
  return said
}

const connectTo = (place: string, authorization: string, more = ''): string =>
  `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\nProxy-Authorization: ${authorization}\r\n${more}\r\n`

/** Opens a tunnel. */
async function tunnel (port: number, place: string, authorization: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
  socket.write(connectTo(place, authorization))
  const [head] = await once(socket, 'data') as [Buffer]
  if (!head.toString().startsWith('HTTP/1.1 200 ')) throw new Error(head.toString())
  return socket
}

t.test('a tunnel carries bytes both ways, and the end of each side by itself', async t => {
  const { port, admit } = await open(t)
  const server = await echo(t)
  const place = `127.0.0.1:${server.port}`
  const { authorization, refused } = admit([place])
  const socket = await tunnel(port, place, authorization)
  const bytes = Buffer.alloc(5_000_000, 'abcdefg')
  const back: Buffer[] = []
  socket.on('data', (chunk: Buffer) => { back.push(chunk) })
  socket.end(bytes)
  await once(socket, 'end')
  t.ok(Buffer.concat(back).equals(bytes), 'what was sent after the other end was told')
  t.match(
    await say(port, `${connectTo(place, authorization)}early`, 300), /^HTTP\/1\.1 200 [^]*\r\n\r\nearly$/,
    'bytes that come with the head'
  )
  t.same(refused, [])
})

t.test('plain requests are passed on, without what is for the proxy alone', async t => {
  const { port, admit } = await open(t)
  const seen: { url: string, headers: IncomingMessage['headers'], body: string }[] = []
  const server = await web(t, async (incoming, reply) => {
    seen.push(
      {
        url: incoming.url ?? '', headers: incoming.headers,
        body: (await incoming.setEncoding('utf8').toArray()).join('')
      }
    )
    reply.writeHead(
      201, { 'X-Reply': ['a', 'b'], 'Connection': 'keep-alive, X-Hop', 'X-Hop': '1' }
    ).end(`${incoming.method} done`)
  })
  const place = `127.0.0.1:${server.port}`
  const { authorization } = admit([place])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => { agent.destroy() })
  const send = async (
    method: string, headers: Record<string, string>, body?: string
  ): Promise<{ response: IncomingMessage, text: string }> => {
    const outgoing = request({
      host: '127.0.0.1', port, agent, method, path: `http://${place}/a%20b?c=%2F#d`,
      headers: { 'Host': place, 'Proxy-Authorization': authorization, ...headers }
    })
    outgoing.end(body)
    const [response] = await once(outgoing, 'response') as [IncomingMessage]
    return { response, text: (await response.setEncoding('utf8').toArray()).join('') }
  }
  const got = await send('GET', { 'Connection': 'keep-alive, X-Mine', 'X-Mine': '1', 'X-Other': '2', 'Upgrade': 'x' })
  t.equal(got.text, 'GET done')
  t.equal(got.response.statusCode, 201)
  t.match(got.response.headers, { 'x-reply': 'a, b' })
  t.notOk('x-hop' in got.response.headers)
  t.match(seen[0], { url: '/a%20b?c=%2F', headers: { 'host': place, 'x-other': '2' }, body: '' })
  t.same(Object.keys(seen[0]?.headers ?? {}).filter(name => /^proxy-|x-mine|upgrade/.test(name)), [])
  for (const headers of [{ 'Content-Length': '4' }, { 'Transfer-Encoding': 'chunked' }]) {
    t.equal((await send('POST', headers, 'body')).text, 'POST done')
    t.equal(seen.at(-1)?.body, 'body')
  }
  t.equal((await send('DELETE', {})).text, 'DELETE done')
  t.equal(server.met(), 1, 'all on one connection')
  t.equal((await send('HEAD', {})).text, '')
})

t.test('a connection that the server ended while it was kept is replaced', async t => {
  const { port, admit } = await open(t)
  let kept: Socket | undefined
  const server = await web(t, (incoming, reply) => {
    kept = incoming.socket
    reply.end('x')
  })
  const place = `127.0.0.1:${server.port}`
  const { authorization } = admit([place])
  const get = `GET http://${place}/ HTTP/1.1\r\nHost: ${place}\r\nProxy-Authorization: ${authorization}\r\nConnection: close\r\n\r\n`
  for (let i = 0; i < 20; i++) {
    t.match(await say(port, get), /^HTTP\/1\.1 200 /)
    kept?.resetAndDestroy()
  }
})

t.test('only the token of a run that has not ended is accepted, in its own room', async t => {
  const { port, admit, door } = await open(t)
  const server = await echo(t)
  const place = `127.0.0.1:${server.port}`
  const mine = admit([place])
  const ended = admit([place])
  const elsewhere = admit([place], 'other')
  const narrow = admit(['127.0.0.1:1'])
  ended.pass.end()
  const { username, password } = new URL(mine.pass.variables(1)['ALL_PROXY'] ?? '')
  t.match(await say(port, connectTo(place, mine.authorization), 200), /^HTTP\/1\.1 200 /)
  const met = server.met()
  for (const authorization of [
    basic('run:'), basic('run:x'), basic(`run:${password.slice(0, -1)}`), basic(`run:${password}x`),
    basic(`run:9${password.slice(1)}`),
    basic(`${username}2:${password}`), basic(password), `Bearer ${password}`, password, '', 'Basic',
    ended.authorization, elsewhere.authorization,
    `${mine.authorization}, ${mine.authorization}`,
    `${mine.authorization}\r\nProxy-Authorization: ${mine.authorization}`
  ]) {
    t.match(
      await say(port, connectTo(place, authorization)),
      /^HTTP\/1\.1 407 [^]*Proxy-Authenticate: Basic [^]*the proxy needs/, authorization
    )
    const get = `GET http://${place}/ HTTP/1.1\r\nHost: ${place}\r\nProxy-Authorization: ${authorization}\r\n\r\n`
    t.match(await say(port, get), /^HTTP\/1\.1 407 [^]*Proxy-Authenticate: Basic /)
  }
  t.match(await say(port, `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`), /^HTTP\/1\.1 407 /, 'none at all')
  t.match(await say(await door('other'), connectTo(place, mine.authorization)), /^HTTP\/1\.1 407 /)
  t.match(await say(port, connectTo(place, narrow.authorization)), /^HTTP\/1\.1 403 /, 'each run has its own list')
  t.equal(server.met(), met, 'nobody was connected to')
})

t.test('what a list does not name is refused, and the user is told once', async t => {
  const { port, admit, resolved } = await open(t, { limits: { refusals_max: 3 } })
  const server = await echo(t)
  const { authorization, refused } = admit([`127.0.0.1:${server.port}`, '*.example.org:443'])
  for (let i = 0; i < 2; i++) {
    for (const other of ['127.0.0.1:1', 'example.com:443', 'example.org:443', '127.0.0.2:80', '[::1]:80']) {
      t.match(await say(port, connectTo(other, authorization)), new RegExp(`^HTTP/1\\.1 403 [^]*\\nsubject may not reach ${other.replace(/[[\].]/g, '\\$&')}: permissions\\.network lists 127\\.0\\.0\\.1:${server.port}, \\*\\.example\\.org:443\\n$`))
    }
  }
  t.equal(refused.length, 3, 'not more often than the limit')
  t.equal(refused[0], `subject may not reach 127.0.0.1:1: permissions.network lists 127.0.0.1:${server.port}, *.example.org:443`)
  t.same(resolved, [], 'nobody is asked for the address of a name that is not in the list')
})

t.test('a name that leads to a place that the list does not name itself is refused', async t => {
  const server = await echo(t)
  const at = (addresses: string[]): string[][] => [addresses]
  const { port, admit } = await open(t, {
    names: {
      'inside.test': at(['127.0.0.1']), 'mapped.test': at(['::ffff:127.0.0.1']),
      'both.test': at(['93.184.216.34', '127.0.0.1']),
      'private.test': at(['10.1.2.3']), 'six.test': at(['::1']), 'local.test': at(['fe80::1%lo']),
      'metadata.test': at(['169.254.169.254']),
      'multicast.test': at(['224.0.0.1']), 'zero.test': at(['0.0.0.0']), 'nat64.test': at(['64:ff9b::7f00:1']),
      'none.test': at([]),
      'odd.test': at(['nonsense']), 'unique.test': at(['fd00::1']), 'localhost': at(['127.0.0.1'])
    }
  })
  const names = [
    'inside', 'mapped', 'both', 'private', 'six', 'local', 'metadata', 'multicast', 'zero', 'nat64', 'unique', 'odd'
  ].map(name => `${name}.test:${server.port}`)
  const { authorization, refused } = admit([...names, `none.test:${server.port}`])
  for (const name of names) {
    t.match(await say(port, connectTo(name, authorization)), /^HTTP\/1\.1 403 [^]*subject may not reach [^]*, which permissions\.network does not list itself\n$/, name)
    t.match(await say(port, `GET http://${name}/ HTTP/1.1\r\nHost: ${name}\r\nProxy-Authorization: ${authorization}\r\n\r\n`), /^HTTP\/1\.1 403 /, name)
  }
  t.equal(refused[0], `subject may not reach inside.test:${server.port}: it is 127.0.0.1, an address of this machine, which permissions.network does not list itself`)
  t.match(await say(port, connectTo(`none.test:${server.port}`, authorization)), /^HTTP\/1\.1 502 [^]*has no address/)
  t.equal(server.met(), 0, 'nobody was connected to')
  const named = admit([...names, `127.0.0.1:${server.port}`])
  t.match(
    await say(port, connectTo(`inside.test:${server.port}`, named.authorization), 200), /^HTTP\/1\.1 200 /,
    'where the list names the address, it works'
  )
  t.match(await say(port, connectTo(`mapped.test:${server.port}`, named.authorization), 200), /^HTTP\/1\.1 200 /)
  const local = admit([`localhost:${server.port}`])
  t.match(
    await say(port, connectTo(`localhost:${server.port}`, local.authorization), 200), /^HTTP\/1\.1 200 /,
    'and by localhost'
  )
})

t.test('a name is resolved once, and what was checked is connected to', async t => {
  const first = await listen(t, createServer(socket => { socket.end('first') }), '127.0.0.1')
  const second = await listen(t, createServer(socket => { socket.end('second') }), '127.0.0.2', first.port)
  const name = `rebind.test:${first.port}`
  const { port, admit, resolved } = await open(t, { names: { 'rebind.test': [['127.0.0.1'], ['127.0.0.2']] } })
  const { authorization } = admit([name, `127.0.0.1:${first.port}`])
  t.match(await say(port, connectTo(name, authorization)), /200 [^]*first$/)
  t.same(resolved, ['rebind.test'])
  t.match(
    await say(port, connectTo(name, authorization)), /403 [^]*it is 127\.0\.0\.2/, 'another connection, another check'
  )
  t.equal(second.met(), 0)
})

t.test('a request that can be read in two ways is refused, and nothing of it is passed on', async t => {
  const asked: string[] = []
  const { port, admit } = await open(t)
  const server = await web(t, (incoming, reply) => {
    asked.push(`${incoming.method} ${incoming.headers.host} ${incoming.url}`)
    reply.end('x')
  })
  const place = `127.0.0.1:${server.port}`
  const { authorization } = admit([place])
  const auth = `Proxy-Authorization: ${authorization}\r\n`
  const get = (target: string, headers: string): string => `GET ${target} HTTP/1.1\r\n${headers}${auth}\r\n`
  t.match(
    await say(port, get(`http://${place}/control`, `Host: ${place}\r\nConnection: close\r\n`)), /^HTTP\/1\.1 200 /
  )
  for (const [what, text] of Object.entries({
    'two Hosts': get(`http://${place}/`, `Host: ${place}\r\nHost: evil.test\r\n`),
    'the same Host twice': get(`http://${place}/`, `Host: ${place}\r\nHost: ${place}\r\n`),
    'another Host': get(`http://${place}/`, 'Host: evil.test\r\n'),
    'another port in Host': get(`http://${place}/`, 'Host: 127.0.0.1\r\n'),
    'no Host': get(`http://${place}/`, ''),
    'a Host that is none': get(`http://${place}/`, 'Host: a b\r\n'),
    'no URL': get('/', `Host: ${place}\r\n`),
    'a user in the URL': get(`http://evil.test@${place}/`, `Host: ${place}\r\n`),
    'a backslash': get(`http://evil.test\\@${place}/`, `Host: ${place}\r\n`),
    'another scheme': get(`https://${place}/`, `Host: ${place}\r\n`),
    'a folded header': get(`http://${place}/`, `Host: ${place}\r\nX-A: b\r\n c\r\n`),
    'a folded Host': get(`http://${place}/`, `Host:\r\n ${place}\r\n`),
    'a space before the colon': get(`http://${place}/`, `Host : ${place}\r\n`),
    'two lengths': get(`http://${place}/`, `Host: ${place}\r\nContent-Length: 1\r\nContent-Length: 2\r\n`),
    'a length and chunks': get(
      `http://${place}/`, `Host: ${place}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n`
    ),
    'chunks under another name': get(`http://${place}/`, `Host: ${place}\r\nTransfer-Encoding: xchunked\r\n`),
    'a line feed alone': get(`http://${place}/`, `Host: ${place}\nX: y\r\n`),
    'CONNECT with a path': `CONNECT ${place}/path HTTP/1.1\r\nHost: ${place}\r\n${auth}\r\n`,
    'CONNECT with a URL': `CONNECT http://${place}/ HTTP/1.1\r\nHost: ${place}\r\n${auth}\r\n`,
    'CONNECT with a user': `CONNECT user@${place} HTTP/1.1\r\nHost: ${place}\r\n${auth}\r\n`,
    'CONNECT without a port': `CONNECT 127.0.0.1 HTTP/1.1\r\nHost: 127.0.0.1\r\n${auth}\r\n`,
    'CONNECT with another Host': `CONNECT ${place} HTTP/1.1\r\nHost: evil.test:443\r\n${auth}\r\n`,
    'CONNECT with two Hosts': `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\nHost: evil.test\r\n${auth}\r\n`,
    'CONNECT with an address with a zone': `CONNECT [::1%lo]:80 HTTP/1.1\r\n${auth}\r\n`
  })) t.match(await say(port, text, 3_000), /^HTTP\/1\.1 400 /, what)
  t.match(
    await say(port, get(`http://${place}/`, `Host: ${place}\r\nX: ${'x'.repeat(20_000)}\r\n`)), /^HTTP\/1\.1 431 /,
    'a huge head'
  )
  t.same(asked, [`GET ${place} /control`])
  const spelled = `[::ffff:127.0.0.1]:${server.port}`
  t.match(
    await say(port, get(`http://${spelled}/`, `Host: ${place}\r\nConnection: close\r\n`)), /^HTTP\/1\.1 200 /,
    'two spellings of one place are no contradiction'
  )
  t.equal(asked.at(-1), `GET ${place} /`, 'and the server sees one of them')
})

t.test('the head of a request must come in time, however slowly it comes', async t => {
  const { port, admit } = await open(t, { limits: { header_ms: 300 } })
  const { authorization } = admit(['127.0.0.1:1'])
  t.equal((await say(port, '')).replace(/^HTTP\/1\.1 408 [^]*/, ''), '', 'a connection that says nothing')
  const slow = connect(port, '127.0.0.1').on('error', () => {})
  const closed = once(slow.resume(), 'close')
  const drip = setInterval(() => { slow.write('X') }, 20)
  t.teardown(() => { clearInterval(drip) })
  slow.write(`CONNECT 127.0.0.1:1 HTTP/1.1\r\nProxy-Authorization: ${authorization}\r\nX-A: `)
  await closed
  t.pass('a head that never ends')
})

t.test('connections are limited: of a run, of a socket that listens, and of all', async t => {
  const { port, admit, door } = await open(
    t, { limits: { run_connections_max: 5, listener_connections_max: 20, connections_max: 30 } }
  )
  const server = await echo(t)
  const place = `127.0.0.1:${server.port}`
  const { pass, authorization, refused } = admit([place])
  for (let i = 0; i < 5; i++) await tunnel(port, place, authorization)
  t.match(await say(port, connectTo(place, authorization)), /^HTTP\/1\.1 503 [^]*subject has 5 connections/)
  t.match(refused, [/^subject has 5 connections/])
  t.equal(server.met(), 5)
  pass.end()
  const other = admit([place])
  await tunnel(port, place, other.authorization)
  // A thousand that say nothing.
  let open_ = 0
  for (let i = 0; i < 1000; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {}).resume()
    socket.once('connect', () => { open_++ }).once('close', () => { open_-- })
    t.teardown(() => { socket.destroy() })
  }
  await until(() => open_ > 0 && open_ <= 20)
  const next = await door('next')
  const apart = admit([place], 'next')
  const tunnels = []
  for (let i = 0; i < 5; i++) tunnels.push(await tunnel(next, place, apart.authorization))
  t.equal(tunnels.length, 5, 'another socket that listens has room')
  const more = await Promise.all(Array.from({ length: 10 }, () => say(next, '', 300)))
  t.same(new Set(more), new Set(['']), 'and there are no more than all may have')
})

t.test('a client that does not read stops the server that sends, and is closed when nothing moves', async t => {
  let sent = 0
  let ended = false
  const { port, admit } = await open(t, { limits: { idle_ms: 1_500 } })
  const server = await listen(t, createServer(socket => {
    const chunk = Buffer.alloc(65_536)
    const pour = (): void => {
      while (!socket.destroyed && socket.write(chunk)) sent += chunk.length
    }
    socket.on('drain', pour).once('close', () => { ended = true })
    pour()
  }))
  const place = `127.0.0.1:${server.port}`
  const { authorization } = admit([place])
  const socket = await tunnel(port, place, authorization)
  socket.pause()
  let before = -1
  await until(async () => {
    before = sent
    await setTimeout(200)
    return sent === before
  })
  t.ok(sent < 50_000_000, `${sent} bytes are on their way, and no more`)
  await until(() => ended)
  t.pass('the server\'s end is closed too')
})

t.test('all connections of a run end with it', async t => {
  const { port, admit } = await open(t)
  const server = await echo(t)
  const hanging = await web(t, () => {})
  const place = `127.0.0.1:${server.port}`
  const { pass, authorization } = admit([place, `127.0.0.1:${hanging.port}`])
  const other = admit([place])
  const stays = await tunnel(port, place, other.authorization)
  const ends = await tunnel(port, place, authorization)
  const waits = say(port, `GET http://127.0.0.1:${hanging.port}/ HTTP/1.1\r\nHost: 127.0.0.1:${hanging.port}\r\nProxy-Authorization: ${authorization}\r\n\r\n`)
  await until(() => hanging.met() === 1)
  const closed = once(ends.resume(), 'end')
  pass.end()
  await closed
  t.equal(await waits, '')
  stays.write('still here')
  t.equal(String((await once(stays, 'data'))[0]), 'still here')
})

t.test('a place that can\'t be reached says so', async t => {
  const { port, admit } = await open(t, { limits: { connect_ms: 300 }, names: {} })
  const { authorization, refused } = admit(['nowhere.test', '127.0.0.1:1'])
  t.match(
    await say(port, connectTo('127.0.0.1:1', authorization)),
    /^HTTP\/1\.1 502 [^]*127\.0\.0\.1:1 can't be reached: .*ECONNREFUSED/
  )
  t.match(
    await say(port, connectTo('nowhere.test:443', authorization)),
    /^HTTP\/1\.1 502 [^]*nowhere\.test:443 can't be reached: ENOTFOUND/
  )
  t.same(refused, [], 'which is no refusal')
})
