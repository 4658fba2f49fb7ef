import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Bodies, type BodyCut } from '../../../plugins/http/engine/bodies.ts'
import { until } from '../../../plugins/testing/until.ts'
import { eachEngine, requestOf } from './support.ts'

const json = { Host: 'localhost', 'Content-Type': 'application/json' }

t.test('what bodies hold is counted until it is given back', async t => {
  const bodies = new Bodies({ bytesMax: 1000, bytesHeldMax: 2000, timeout_ms: 60_000 })
  const cuts: BodyCut[] = []
  const open = (): ReturnType<Bodies['open']> => bodies.open(error => { cuts.push(error) })
  const [one, two, three] = [open(), open(), open()]
  for (let i = 0; i < 900; i++) one.add(Buffer.from('a'))
  t.equal(one.end(Buffer.alloc(0))?.length, 900)
  t.equal(bodies.held, 1000, 'grown by doubling, up to the most a body may have')
  two.add(Buffer.alloc(700))
  t.equal(bodies.held, 1700, 'one that is whole still counts')
  three.add(Buffer.alloc(301))
  t.match(cuts, [{ code: 'OVERLOADED', message: /bodies_bytes_max/ }])
  three.add(Buffer.alloc(1))
  t.equal(bodies.held, 1700, 'one that was cut holds nothing, and takes nothing more')
  two.add(Buffer.alloc(301))
  t.match(cuts[1], { code: 'PAYLOAD_TOO_LARGE' })
  t.equal(bodies.held, 1000)
  for (const body of [one, one, two, three]) body.release()
  t.equal(bodies.held, 0)
  const [at_once, empty, large, full, more] = [open(), open(), open(), open(), open()]
  const chunk = Buffer.alloc(999)
  t.equal(at_once.end(chunk), chunk, 'one that comes at once is not copied')
  t.equal(bodies.held, 999, 'and counts all the same')
  t.equal(empty.end(Buffer.alloc(0))?.length, 0)
  t.equal(large.end(Buffer.alloc(1001)), undefined)
  full.add(Buffer.alloc(1000))
  t.equal(more.end(Buffer.alloc(2)), undefined)
  t.equal(full.end(Buffer.alloc(1)), undefined, 'nor does the last chunk make it larger than one may be')
  t.match(cuts.slice(2), [{ code: 'PAYLOAD_TOO_LARGE' }, { code: 'OVERLOADED' }, { code: 'PAYLOAD_TOO_LARGE' }])
  t.equal(bodies.held, 999)
  at_once.release()
  t.equal(bodies.held, 0)
})

eachEngine(t, 'a body that takes too long is cut, however it trickles', {
  server: { body_timeout_ms: 400 }
}, async (t, server) => {
  for (const [name, framing, piece] of [
    ['stalled', { 'Content-Length': '1000' }, ''],
    ['in drops', { 'Content-Length': '100000' }, ' '],
    ['in small chunks', { 'Transfer-Encoding': 'chunked' }, '1\r\n \r\n']
  ] as const) {
    const connection = await server.wire()
    connection.write(requestOf('POST', '/api/search', { ...json, ...framing }))
    const trickle = setInterval(() => { if (piece !== '') connection.write(piece) }, 20)
    const answer = await connection.read()
    server.check('POST', '/api/search', answer)
    t.match(
      [answer.status, answer.error.code, answer.error.message, answer.error.details],
      [400, 'INVALID_PARAMETERS', /took longer than 400 ms/, { body_timeout_ms: 400 }],
      name
    )
    await connection.ended()
    clearInterval(trickle)
    connection.destroy()
  }
  t.equal((await server.post('/api/search', { query: 'x' })).status, 200)
})

eachEngine(t, 'a head that never ends is cut', {}, async (t, server) => {
  const connections = await Promise.all([
    '', 'GET /livez HTTP/1.1\r\n', `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\n\r\n`
  ].map(async start => (await server.wire()).write(start)))
  const trickle =
    setInterval(() => { for (const connection of connections.slice(1)) connection.write('X: a\r\n') }, 200)
  await Promise.all(connections.map(connection => connection.ended()))
  clearInterval(trickle)
  t.pass('whatever trickles in')
})

eachEngine(t, 'the bytes of all bodies are bounded', {
  server: { body_bytes_max: 65_536, bodies_bytes_max: 200_000 }
}, async (t, server) => {
  const hold = async (): Promise<Awaited<ReturnType<typeof server.wire>>> =>
    (await server.wire()).write(requestOf('POST', '/api/search', { ...json, 'Content-Length': '60000' }))
      .write(' '.repeat(59_999))
  const holding = [await hold(), await hold(), await hold()]
  const small = { query: 'x'.repeat(1900), top_k: 1 }
  let refusals = 0
  // Until the three have arrived.
  await until(async () => {
    const more = await server.ask('POST', '/api/search', { headers: json, body: JSON.stringify(small).padEnd(30_000) })
    if (more.status === 200) return false
    refusals++
    t.match([more.status, more.error.code, Number(more.headers.get('retry-after')) > 0], [503, 'OVERLOADED', true])
    return true
  })
  t.equal(refusals, 1)
  t.equal((await server.post('/api/search', { query: 'x' })).status, 200, 'small bodies still have room')
  holding[0]?.destroy()
  await until(async () =>
    (await server.ask('POST', '/api/search', { headers: json, body: JSON.stringify(small).padEnd(30_000) })).status
      === 200)
  t.pass('who leaves gives room back')
  for (const connection of holding.slice(1)) {
    t.equal((await connection.write(' ').read()).error.code, 'INVALID_PARAMETERS', 'what was let in is answered')
  }
  for (const connection of holding) connection.destroy()
  for (let i = 0; i < 10; i++) {
    t.equal(
      (await server.post('/api/search', { query: 'x'.repeat(1500), top_k: 1 })).status,
      200,
      'and what is answered gives it back'
    )
  }
})

eachEngine(t, '10,000 idle connections leave the server answering', {}, async (t, server) => {
  // From another process: each end of a connection takes a descriptor.
  const file = fileURLToPath(new URL('../../support/idle-connections.js', import.meta.url))
  const child = spawn(process.execPath, [file, `${server.port}`, '10000'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => { child.kill('SIGKILL') })
  const [said] = await once(child.stdout, 'data') as [Buffer]
  t.match(said.toString(), /^10000 connected/)
  const began_ms = performance.now()
  for (let i = 0; i < 20; i++) t.equal((await server.post('/api/search', { query: 'x' })).status, 200)
  t.comment(`20 requests beside 10,000 idle connections: ${Math.round(performance.now() - began_ms)} ms`)
  child.stdin.end()
  await once(child, 'exit')
  t.equal((await server.post('/api/search', { query: 'x' })).status, 200)
})
