import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { connect, execute as executeOverMcp, textOf } from '../support/mcp.ts'
import { execute, makeHome, request, skillet, startServer } from '../support/program.ts'

const manifest = `
name = "numbers"
description = "Numbers"
runtime = "native"
[[tools]]
name = "list"
description = "List numbers"
command = ["seq", "1", "{{count}}"]
parameters = [{ name = "count", type = "integer", description = "How many", required = true }]
[[tools]]
name = "bytes"
description = "Count bytes"
command = ["wc", "-c"]
stdin = "{{text}}"
parameters = [{ name = "text", type = "string", description = "The text", required = true }]
`
const script = `export default { description: 'Rows', tools: {
  make: {
    description: 'Make rows', parameters: { count: { type: 'integer', description: 'How many', required: true } },
    run: ({ count }) => ({ rows: Array.from({ length: count }, (_, n) => ({ n, name: 'row ' + n })) })
  },
  sum: {
    description: 'Add', parameters: { values: { type: 'array', description: 'Numbers', required: true } },
    run: ({ values }) => values.reduce((sum, value) => sum + value, 0)
  }
} }`

t.test('a large output is read in parts by every door, and passed from tool to tool', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  await mkdir(join(home.skills, 'numbers'), { recursive: true })
  await mkdir(join(home.skills, 'rows'))
  await writeFile(join(home.skills, 'numbers', 'skill.toml'), manifest)
  await writeFile(join(home.skills, 'rows', 'skill.js'), script)
  const server = await startServer(home, ['--log-level', 'error'])
  t.teardown(server.kill)
  const whole = Array.from({ length: 400_000 }, (_, i) => `${i + 1}\n`).join('')

  const { body } = await execute(server.url, 'numbers', 'list', { count: 400_000 })
  const id = String(body['execution_id'])
  t.match(body['output'], new RegExp(`\\[output truncated: 1048576 of ${whole.length} bytes kept; all of it: execution://${id}/output\\]$`))
  t.same(await readdir(join(home.data_dir, 'outputs')), [id])
  const path = `${server.url}/api/executions/${id}/output`
  const read = (range?: string, more: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    fetch(path, { method, headers: { ...(range !== undefined && { Range: range }), ...more } })

  await t.test('HTTP', async t => {
    const all = await read()
    t.equal(all.status, 200)
    t.ok(await all.text() === whole)
    const etag = all.headers.get('etag') ?? ''
    const part = await read('bytes=10-19')
    t.match([part.status, await part.text()], [206, whole.slice(10, 20)])
    t.equal(part.headers.get('content-range'), `bytes 10-19/${whole.length}`)
    const most = await read('bytes=1-')
    t.equal(most.status, 206)
    t.ok(await most.text() === whole.slice(1))
    const beyond = await read(`bytes=${whole.length}-`)
    t.match([beyond.status, await beyond.json()], [416, { error: { code: 'RANGE_NOT_SATISFIABLE' }, success: false }])
    t.equal(beyond.headers.get('content-range'), `bytes */${whole.length}`)
    for (const range of ['bytes=5-1', 'lines=1-2', 'bytes=0-1,3-4', 'bytes=', 'nonsense']) {
      const { status, body } = await read(range)
      await body?.cancel()
      t.equal(status, 200, `${range}: ignored`)
    }
    t.equal((await read(undefined, { 'If-None-Match': `"other", ${etag}` })).status, 304)
    t.equal((await read('bytes=0-0', { 'If-Range': etag })).status, 206)
    t.equal((await read('bytes=0-0', { 'If-Range': all.headers.get('last-modified') ?? '' })).status, 206)
    const changed = await read('bytes=0-0', { 'If-Range': '"other"' })
    await changed.body?.cancel()
    t.equal(changed.status, 200)
    const head = await read(undefined, {}, 'HEAD')
    t.match([head.status, head.headers.get('content-length')], [200, String(whole.length)])
    const small = await execute(server.url, 'numbers', 'list', { count: 3 })
    const url = `${server.url}/api/executions/${String(small.body['execution_id'])}/output`
    t.equal(await (await fetch(url, { headers: { Range: 'bytes=-4' } })).text(), '2\n3\n', 'one that is in the record')
    t.equal((await fetch(`${url}?a=1`)).status, 400)
    t.match((await request(server.url, '/api/executions/nobody/output')).status, 404)
  })

  await t.test('the command line', async t => {
    t.ok((await skillet(home, ['output', id])).stdout === whole)
    t.match(await skillet(home, ['output', id, '--range', '10-19', '--json']), {
      status: 0, stdout: `${JSON.stringify({ id, bytes: whole.length, output: whole.slice(10, 20) })}\n`
    })
    const text = { $from: `execution://${id}/output` }
    const run = await skillet(home, ['run', 'numbers:bytes', '--params', JSON.stringify({ text })])
    t.match(run, { status: 0, stdout: `${whole.length}\n` })
  })

  await t.test('MCP', async t => {
    const { client } = await connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)) as Transport)
    t.teardown(() => client.close())
    const uri = `skillet://executions/${id}/output`
    const { contents } = await client.readResource({ uri: `${uri}?offset=${whole.length - 7}&length=100` })
    t.match(contents, [{ text: '400000\n' }])
    const counted = await executeOverMcp(client, 'numbers', 'bytes', { text: { $from: uri } })
    t.match(JSON.parse(textOf(counted)), { status: 'success', output: `${whole.length}\n` })
    const made = await executeOverMcp(client, 'rows', 'make', { count: 50_000 })
    const { execution_id } = JSON.parse(textOf(made)) as { execution_id: string }
    const values = { $from: `execution://${execution_id}/output`, select: 'rows[?n >= `49998`].n' }
    t.match(JSON.parse(textOf(await executeOverMcp(client, 'rows', 'sum', { values }))), { output: '99997' })
  })

  await t.test('a client that never reads harms no other', async t => {
    const silent = await Promise.all(Array.from({ length: 20 }, () => read()))
    t.match((await execute(server.url, 'numbers', 'list', { count: 1 })).body, { output: '1\n' })
    t.equal(await (await read('bytes=0-1')).text(), '1\n')
    await Promise.all(silent.map(({ body }) => body?.cancel()))
  })
})
