import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { definePlugin, type Endpoint } from '../../../kernel/index.ts'
import { until } from '../../../plugins/testing/until.ts'
import { engines, openServer } from './support.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const piece = new Uint8Array(65_536).fill(0x61)

/** An endpoint whose streams tell what becomes of them. */
function streams (): {
  plugin: ReturnType<typeof definePlugin<'endpoint'>>
  seen: { pulled: number, cancelled: number, aborted: number, fail: () => void }
} {
  const seen = { pulled: 0, cancelled: 0, aborted: 0, fail: () => {} }
  const events = { headers: { 'content-type': 'text/event-stream' } }
  const endpoint: Endpoint = {
    routes: [
      { method: 'GET', path: '/endless' }, { method: 'GET', path: '/quiet' }, { method: 'GET', path: '/breaks' },
      { method: 'GET', path: '/fails' }, { method: 'POST', path: '/echo' }
    ],
    async fetch (request) {
      request.signal.addEventListener('abort', () => { seen.aborted++ })
      const cancel = (): void => { seen.cancelled++ }
      switch (new URL(request.url).pathname) {
        case '/endless': return new Response(new ReadableStream({
          pull (controller) {
            seen.pulled += piece.length
            controller.enqueue(piece)
          },
          cancel
        }), events)
        case '/fails': return new Response(new ReadableStream({
          start (controller) { seen.fail = () => { controller.error(new Error('given up')) } },
          pull (controller) {
            seen.pulled += piece.length
            controller.enqueue(piece)
          }
        }), events)
        case '/quiet': return new Response(new ReadableStream({ cancel }), events)
        case '/breaks': return new Response(
          new ReadableStream({ pull (controller) { controller.error(new Error('broken')) } }),
          events
        )
        default: {
          const text = await request.text()
          return request.headers.get('accept') === 'text/event-stream'
            ? new Response(new ReadableStream({
              start (controller) {
                controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`))
                controller.close()
              }
            }), events)
            : new Response(text, { status: 207, headers: { 'content-type': 'text/plain', 'x-own': 'yes' } })
        }
      }
    }
  }
  return { seen, plugin: definePlugin({ name: 'endpoint-test', slot: 'endpoint', setup: () => endpoint }) }
}

for (const engine of engines) {
  t.test(`streams on ${engine}`, async t => {
    const { plugin, seen } = streams()
    const server = await openServer({ engine, plugins: [plugin], server: { body_bytes_max: 2048 } })
    t.teardown(server.stop)
    const url = `http://127.0.0.1:${server.port}`

    await t.test('a slow reader holds the stream back, and the stream ends with it', async t => {
      const reading = new AbortController()
      const response = await fetch(`${url}/endless`, { signal: reading.signal })
      t.equal(response.headers.get('content-type'), 'text/event-stream')
      const reader = response.body?.getReader()
      await reader?.read()
      let before = -1
      await until(async () => { // nobody reads: what is taken from the stream comes to a halt
        const still = seen.pulled === before
        before = seen.pulled
        await new Promise(resolve => setTimeout(resolve, 200))
        return still
      })
      t.ok(seen.pulled < 64 * 1_048_576, `${seen.pulled} bytes wait`)
      let read = 0
      while (read < 2 * before) read += (await reader?.read())?.value?.length ?? Infinity
      t.ok(seen.pulled > before, 'it goes on when the client reads on')
      reading.abort()
      await until(() => seen.cancelled === 1 && seen.aborted === 1)
    })

    await t.test('the head goes out at once, and a client that leaves is noticed', async () => {
      const leaving = new AbortController()
      await fetch(`${url}/quiet`, { signal: leaving.signal })
      collectGarbage() // the request among it, unless somebody holds it: then its signal would never tell
      leaving.abort()
      await until(() => seen.cancelled === 2 && seen.aborted === 2)
    })

    await t.test('a stream that breaks ends the connection, not the reply', async t => {
      await t.rejects(fetch(`${url}/breaks`).then(response => response.text()))
    })

    await t.test('one that fails while the client takes nothing ends the connection', async () => {
      const response = await fetch(`${url}/fails`)
      let before = -1
      await until(async () => {
        const still = seen.pulled === before
        before = seen.pulled
        await new Promise(resolve => setTimeout(resolve, 200))
        return still
      })
      const { aborted } = seen
      seen.fail()
      await until(() => seen.aborted === aborted + 1)
      await response.body?.cancel()
    })

    await t.test('other replies come whole, and the checks of the server stand before', async t => {
      const post = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
        fetch(`${url}/echo`, { method: 'POST', body, headers })
      const whole = await post('hé')
      t.same(
        [
          whole.status, whole.headers.get('content-length'), whole.headers.get('x-own'),
          whole.headers.get('x-content-type-options'), await whole.text()
        ],
        [207, '3', 'yes', 'nosniff', 'hé']
      )
      t.equal(await (await post('x', { accept: 'text/event-stream' })).text(), ':\n\ndata: x\n\n')
      t.equal((await post('x'.repeat(2049))).status, 413)
      t.equal((await post('x', { origin: 'http://evil.example' })).status, 403)
      t.equal(
        (await fetch(`${url}/quiet`, { headers: { origin: 'http://evil.example' } })).status,
        403,
        'a stream is none of a foreign page\'s'
      )
      t.equal((await fetch(`${url}/quiet`, { method: 'HEAD' })).status, 405)
      t.equal((await fetch(`${url}/echo`)).status, 405)
    })

    await t.test('nothing that follows a body in chunks is taken for a request', async t => {
      const head = 'POST /echo HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'
      const alone = await server.wire()
      t.match(
        await alone.write(head).rest(), /data: x[\s\S]*\r\n0\r\n\r\n$/, 'answered whole, and the connection ended'
      )
      const followed = await server.wire()
      t.notMatch(
        await followed.write(`${head}GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n`).rest(),
        'api_version'
      )
    })
  })
}
