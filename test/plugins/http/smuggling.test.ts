import t from 'tap'
import { eachEngine, type TestServer } from './support.ts'

const host = 'Host: localhost\r\n'
const body = '{"query":"x"}'
const length = `Content-Length: ${body.length}\r\n`
const chunks = `d\r\n${body}\r\n0\r\n\r\n`
const post = (headers: string, content: string): string =>
  `POST /api/search HTTP/1.1\r\n${host}Content-Type: application/json\r\n${headers}\r\n${content}`
const get = (headers: string): string => `GET /livez HTTP/1.1\r\n${headers}\r\n`
const chunked = (content: string): string => post('Transfer-Encoding: chunked\r\n', content)

/** What two programs could read differently. The request behind it is never to be answered. */
const ambiguous: Record<string, string> = {
  'two lengths, the same': post(length + length, body),
  'two lengths': post(`${length}Content-Length: 2\r\n`, body),
  'a list of lengths': post('Content-Length: 13, 13\r\n', body),
  'a length with a sign': post('Content-Length: +13\r\n', body),
  'a length in hexadecimal': post('Content-Length: 0xd\r\n', body),
  'an empty length': post('Content-Length:\r\n', body),
  'length, then coding': post(`${length}Transfer-Encoding: chunked\r\n`, chunks),
  'coding, then length': post(`Transfer-Encoding: chunked\r\n${length}`, chunks),
  'a coding that only looks like chunked': post('Transfer-Encoding: xchunked\r\n', chunks),
  'a control character before chunked': post('Transfer-Encoding: \x0bchunked\r\n', chunks),
  'identity': post('Transfer-Encoding: identity\r\n', body),
  'chunked, then identity': post('Transfer-Encoding: chunked, identity\r\n', chunks),
  'chunked twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', chunks),
  'space before the colon of the coding': post(`${length}Transfer-Encoding : chunked\r\n`, body),
  'space before the colon of the length': post('Content-Length : 13\r\n', body),
  'space before the colon of the host': get('Host : localhost\r\n'),
  'a folded header': get(`${host}X: a\r\n b\r\n`),
  'a header in a fold': post(`${length}X: a\r\n Transfer-Encoding: chunked\r\n`, body),
  'a header behind a bare line feed': post(`${length}X: a\nTransfer-Encoding: chunked\r\n`, body),
  'a header behind a bare carriage return': post(`${length}X: a\rTransfer-Encoding: chunked\r\n`, body),
  'line feeds alone': 'GET /livez HTTP/1.1\nHost: localhost\n\n',
  'NUL in a value': get(`${host}X: a\0b\r\n`),
  'NUL in a name': get(`${host}X\0: b\r\n`),
  'NUL in the target': `GET /livez\0 HTTP/1.1\r\n${host}\r\n`,
  'a line without a colon': get(`${host}abc\r\n`),
  'a space in a name': get(`${host}a b: c\r\n`),
  'a chunk size with a prefix': chunked(`0x${chunks}`),
  'a chunk size with a sign': chunked(`+${chunks}`),
  'a negative chunk size': chunked(`-${chunks}`),
  'a chunk size with a space': chunked(`d \r\n${body}\r\n0\r\n\r\n`),
  'a chunk size beyond all numbers': chunked(`1000000000000000${chunks}`),
  'a chunk size that is none': chunked(`g\r\n${body}\r\n0\r\n\r\n`),
  'a chunk behind a bare line feed': chunked(`d\n${body}\n0\n\n`),
  'a chunk that does not end where it says': chunked(`d\r\n${body}XX0\r\n\r\n`),
  'a chunk longer than it says': chunked(`c\r\n${body}\r\n0\r\n\r\n`),
  'a chunk extension with a line feed': chunked(`d;\nxx\r\n${body}\r\n0\r\n\r\n`),
  'framing in the trailer': chunked(`d\r\n${body}\r\n0\r\nHost: y\r\nContent-Length: 4\r\n\r\n`),
  'a target with another authority': `GET http://evil.example/livez HTTP/1.1\r\n${host}\r\n`,
  'CONNECT': `CONNECT localhost:80 HTTP/1.1\r\n${host}\r\n`,
  'CONNECT of a path': `CONNECT /livez HTTP/1.1\r\n${host}\r\n`,
  'TRACE': `TRACE /livez HTTP/1.1\r\n${host}\r\n`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a WebSocket': get(`${host}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`),
  'a WebSocket of a foreign page': get(
    `${host}Origin: https://evil.example\r\nConnection: upgrade\r\nUpgrade: h2c, WebSocket\r\n`
  ),
  'no host': get(''),
  'no host, in HTTP/1.0': 'GET /livez HTTP/1.0\r\n\r\n',
  'two hosts': get(`${host}Host: evil.example\r\n`),
  'the same host twice': get(host + host)
}

/**
 * What an engine reads as well-formed, and serves when nothing follows it: the parser of uWebSockets.js lets spaces and
 * bare line feeds pass in chunks, and does not look at what stands where a chunk ends. Nothing else is ever served.
 */
const served: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': [
    'a chunk size with a space', 'a chunk behind a bare line feed', 'a chunk that does not end where it says'
  ],
  'node:http': []
}

/** What must be refused on the head alone, and is answered before the connection ends. */
const answered: Record<string, number | [number, number]> = {
  'two lengths': 400, 'two lengths, the same': 400, 'chunked twice': 400, 'identity': 400, 'length, then coding': 400,
  // Newer releases of uWebSockets.js refuse these themselves, by 400.
  'two hosts': [403, 400], 'the same host twice': [403, 400],
  'TRACE': 405, 'a WebSocket': 400, 'a WebSocket of a foreign page': 403
}

const smuggled = `GET /smuggled HTTP/1.1\r\n${host}\r\n`
const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))

/** All that is answered until the server ends the connection. */
async function restOf ({ wire }: TestServer, text: string): Promise<string> {
  const connection = await wire()
  const rest = await connection.write(Buffer.from(text, 'latin1')).rest()
  connection.destroy()
  return rest
}

eachEngine(t, 'what could be read in two ways ends its connection', {}, async (t, server) => {
  const { engine } = server.transport
  const control = await server.wire()
  control.write(`GET /api/version HTTP/1.1\r\n${host}\r\n${smuggled}`)
  t.equal((await control.read()).status, 200)
  t.match((await control.read()).text, '/smuggled', 'behind a clear request it is answered, and that is seen')
  control.destroy()
  // uWebSockets.js leaves headers it can't read unanswered, and closes when the connection's ten seconds are over.
  await Promise.all(Object.entries(ambiguous).map(async ([name, request]) => {
    const [behind, alone] = await Promise.all([restOf(server, request + smuggled), restOf(server, request)])
    t.same(statusesOf(behind).filter(status => status < 400), [], `${name} is not served with a request behind it`)
    t.notMatch(behind, '/smuggled', `${name} hides no request`)
    const fine = statusesOf(alone).filter(status => status < 400)
    t.ok(
      fine.length === 0 || (fine.join() === '200' && served[engine]?.includes(name)),
      `${name} is served only where its engine reads it as well-formed`
    )
  }))
  for (const [name, allowed] of Object.entries(answered)) {
    const connection = await server.wire()
    const answer = await connection.write(ambiguous[name] ?? '').read()
    t.ok([allowed].flat().includes(answer.status), `${name}: ${answer.status}`)
    t.equal(answer.headers.get('connection'), 'close', name)
    t.equal(await connection.rest(), '', `${name}: nothing follows the body that its length covers`)
    connection.destroy()
  }
  t.equal((await server.ask('GET', '/api/health')).status, 200, 'and the server still serves')
})

eachEngine(t, 'the last reply of a connection is whole, and as long as it says', {}, async (t, server) => {
  const ways: Record<string, string> = {
    'a refusal whose body was not read': post('Content-Length: 2000000\r\n', 'x'),
    'a page': `GET /docs/api HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'an image': `GET /docs/api/favicon-32x32.png HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'a large page': `GET /docs/api/swagger-ui.css HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
  }
  for (const [name, request] of Object.entries(ways)) {
    const connection = await server.wire()
    const answer = await connection.write(request).read()
    t.equal(Number(answer.headers.get('content-length')), answer.bytes.length, name)
    const path = /^GET (\S+)/.exec(request)?.[1]
    if (path === undefined) {
      t.equal(answer.error.code, 'PAYLOAD_TOO_LARGE')
    } else {
      t.ok(
        (await server.ask('GET', path)).bytes.equals(answer.bytes),
        `${name} is the same as on a connection that goes on`
      )
    }
    connection.halfClose()
    t.equal(await connection.rest(), '', `${name}: nothing follows`)
    connection.destroy()
    t.notMatch(await restOf(server, request + smuggled), '/smuggled', `${name} is the last`)
  }
  const head = await server.wire()
  head.write(`HEAD /docs/api HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)
  t.equal((await head.read(true)).status, 200)
  t.equal(await head.rest(), '', 'nothing follows the head that answers a HEAD')
  head.destroy()
})

eachEngine(t, 'a body in chunks is read, and is the last of its connection', {}, async (t, server) => {
  for (const [path, status] of [['/api/search', 200], ['/api/execute', 400], ['/api/nothing', 404]] as const) {
    const connection = await server.wire()
    connection.write(`POST ${path} HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`)
    const answer = await connection.read()
    t.match([answer.status, answer.headers.get('connection')], [status, 'close'], path)
    await connection.ended()
    connection.destroy()
  }
  const large = await server.wire()
  const content = JSON.stringify({ skill_name: 'demo', tool_name: 'big', parameters: { size: 200_000 } })
  large.write(`POST /api/execute HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`)
  t.equal(String((await large.read()).json['output']).length, 200_000)
  t.notMatch(await large.write(smuggled).rest(), /HTTP/, 'a large reply, too, is the last')
  large.destroy()
})
