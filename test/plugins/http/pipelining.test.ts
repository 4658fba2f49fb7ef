import t from 'tap'
import { until } from '../../../plugins/testing/until.ts'
import { eachEngine, requestOf, type TestServer } from './support.ts'
import { Wire } from './wire.ts'

const json = { Host: 'localhost', 'Content-Type': 'application/json' }
/** Answered in the turn in which it comes, and its answer says which it was. */
const get = (i: number): Buffer => requestOf('GET', `/api/skills/none-${i}`, { Host: 'localhost' })
/** Answered later. */
const post = (i: number): Buffer =>
  requestOf('POST', '/api/execute', json, { skill_name: 'demo', tool_name: 'echo', parameters: { text: `post ${i}` } })

/**
 * Reads so many replies, each of which must be that of the request at its place; or fewer, where the connection ends
 * before.
 * @returns how many came
 */
async function readInOrder (connection: Wire, requests: readonly string[]): Promise<number> {
  for (const [i, kind] of requests.entries()) {
    const answer = await connection.read().catch(() => undefined)
    if (answer === undefined) return i
    if (answer.status === 505) throw new Error(answer.text)
    const said = kind === 'get' ? answer.error.details['skill'] : answer.json['output']
    if (said !== (kind === 'get' ? `none-${i}` : `post ${i}`)) throw new Error(`reply ${i} is ${answer.text}`)
  }
  return requests.length
}

type Kind = 'get' | 'post'
const requestsOf = (kinds: readonly Kind[]): Buffer[] => kinds.map((kind, i) => kind === 'get' ? get(i) : post(i))

/**
 * Whether a cut falls into the first line of a request: uWebSockets.js refuses one that comes in two pieces, depending
 * on what lies behind it in memory.
 */
function isInFirstLine (requests: readonly Buffer[], cut: number): boolean {
  let at = 0
  for (const request of requests) {
    if (cut > at && cut < at + request.indexOf('\r\n') + 2) return true
    at += request.length
  }
  return false
}

/**
 * Sends requests in one piece or in two, and reads their replies: each in its place, none twice.
 * @returns how many came before the connection ended
 */
async function pipelined (server: TestServer, kinds: readonly Kind[], cut?: number): Promise<number> {
  const requests = requestsOf(kinds)
  const bytes = Buffer.concat(requests)
  const connection = await server.wire()
  try {
    connection.write(bytes.subarray(0, cut))
    if (cut !== undefined) {
      await connection.sent()
      connection.write(bytes.subarray(cut))
    }
    const came = await readInOrder(connection, kinds)
    if (came === kinds.length) {
      if (await readInOrder(connection.write(get(0)), ['get']) !== 1) {
        throw new Error('a reply came twice, or the connection ended')
      }
    } else if (await connection.rest() !== '') throw new Error('the connection ended within a reply')
    return came
  } catch (error) {
    const refused = error instanceof Error && error.message.includes('HTTP Version Not Supported')
    if (refused && cut !== undefined && server.transport.engine === 'uWebSockets.js' && isInFirstLine(requests, cut)) {
      return kinds.length
    }
    throw error
  } finally {
    connection.destroy()
  }
}

/** Places to cut: every one, or so many of them. */
function cutsOf (kinds: readonly Kind[], most: number): number[] {
  const { length } = Buffer.concat(requestsOf(kinds))
  const step = Math.max(1, Math.floor(length / most))
  return Array.from({ length: Math.floor((length - 1) / step) }, (_, i) => 1 + i * step)
}

eachEngine(t, 'requests that are answered at once may come together, cut anywhere', {}, async (t, server) => {
  for (const count of [2, 5, 100]) {
    const kinds = Array.from({ length: count }, () => 'get' as const)
    t.equal(await pipelined(server, kinds), count, `${count} in one piece`)
    for (const cut of cutsOf(kinds, count === 2 ? 1_000 : 40)) {
      const came = await pipelined(server, kinds, cut)
      if (came !== count) t.fail(`of ${count} cut at ${cut}, ${came} were answered`)
    }
  }
})

const mixtures = {
  'two': ['post', 'post'],
  'after one': ['get', 'post', 'get'],
  'five': ['post', 'get', 'get', 'post', 'post'],
  'many': Array.from({ length: 100 }, (_, i) => i % 3 === 0 ? 'get' : 'post')
} as const

eachEngine(t, 'where one waits, node:http answers all in order; uWebSockets.js ends the connection, and mixes nothing up', {}, async (t, server) => {
  for (const [name, kinds] of Object.entries(mixtures)) {
    for (const cut of [undefined, ...cutsOf(kinds, 40)]) {
      const came = await pipelined(server, kinds, cut)
      if (server.transport.engine === 'node:http' && came !== kinds.length) {
        t.fail(`${name} cut at ${cut}: ${came} were answered`)
      }
    }
    // In one packet, the addon finds the next request while one waits.
    if (server.transport.engine === 'uWebSockets.js') {
      t.equal(await pipelined(server, kinds), 0, `${name}: the connection ends`)
    }
  }
  const own = await server.wire()
  for (let i = 0; i < 5; i++) {
    t.equal((await own.write(post(i)).read()).json['output'], `post ${i}`, 'one after the other, all are answered')
  }
  own.destroy()
  await until(async () => Number((await server.ask('GET', '/api/executions?status=running')).json['total']) === 0)
})

eachEngine(t, 'what is no HTTP is refused after the replies that are owed', {}, async (t, server) => {
  const connection = await server.wire()
  connection.write(Buffer.concat([post(0), Buffer.from('NONSENSE\r\n\r\n')]))
  if (server.transport.engine === 'node:http') {
    t.equal((await connection.read()).json['output'], 'post 0')
    t.equal((await connection.read()).status, 400)
  }
  // The addon reads on as it likes; it ends the connection in its own time.
  t.notMatch(await connection.rest(), /HTTP\/1\.1 2[^]*HTTP\/1\.1 2/)
  connection.destroy()
})

eachEngine(t, 'a client that sends without reading is closed, and little is kept for it', {}, async (t, server) => {
  const connection = await server.wire()
  connection.pause()
  const many = Buffer.concat(Array.from(
    { length: 1_000 },
    (_, i) => requestOf('GET', `/api/skills/${'x'.repeat(64)}${i}`, { Host: 'localhost' })
  ))
  const before = process.memoryUsage().rss
  let sent = 0
  while (!connection.gone && sent < 1_000_000) {
    await connection.write(many).sent()
    sent += 1_000
  }
  t.ok(connection.gone, `it was closed after ${sent} requests`)
  t.ok(process.memoryUsage().rss - before < 64 * 1_048_576, 'replies are not piled up')
  connection.destroy()
  t.equal((await server.ask('GET', '/api/health')).status, 200)
})
