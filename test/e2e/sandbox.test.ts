import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { below, gone } from '../support/processes.ts'
import { makeHome, node, request, skillet, startServer } from '../support/program.ts'
import { startWebServer } from '../support/web-server.ts'

const home = await makeHome({ confined: true })
t.teardown(home.remove)
const folder = join(home.skills, 'probe')
mkdirSync(folder, { recursive: true })
const marker = join(home.folder, 'written')
writeFileSync(join(folder, 'skill.toml'), `description = "Try the sandbox"
[[tools]]
name = "write"
description = "Write a file"
command = ["sh", "-c", "echo x > ${marker}; echo tried"]
[[tools]]
name = "own"
description = "Read its own folder and write to its temporary one"
command = ["sh", "-c", "cat ${folder}/skill.toml > $TMPDIR/copy && wc -l < $TMPDIR/copy"]
`)
const script = join(home.skills, 'code')
mkdirSync(script, { recursive: true })
writeFileSync(join(script, 'skill.js'), 'export default { description: "Code", tools: { hi: { description: "Hi", run: () => "hi" }, loop: { description: "Loop", run: () => { for (;;); } } } }')

const doctor = await skillet(home, ['doctor', '--isolation-mode', 'required'])
const skip = /commands of skills that are not trusted are confined/.test(doctor.stdout) ? false : doctor.stdout

t.test('with isolation.mode = "required", commands and scripts of skills that are not trusted run in the sandbox', { skip }, async t => {
  const server = await startServer(home, ['--isolation-mode', 'required'])
  t.teardown(() => server.kill())
  const run = async (
    skill_name: string,
    tool_name: string,
    parameters: object = {}
  ): Promise<Record<string, unknown>> =>
    (await request(server.url, '/api/execute', { skill_name, tool_name, parameters })).body
  const wrote = await run('probe', 'write')
  t.match(wrote, { status: 'success', output: 'tried\n' })
  t.notOk(existsSync(marker), 'the file system is read-only')
  const record = await request(server.url, `/api/executions/${String(wrote['execution_id'])}`)
  t.equal(record.body['isolation'], 'sandbox')
  const lines = readFileSync(join(folder, 'skill.toml'), 'utf8').trimEnd().split('\n').length
  t.match(await run('probe', 'own'), { status: 'success', output: new RegExp(`^${lines}\\s*$`) })
  const said = await run('code', 'hi')
  t.match(said, { status: 'success', output: 'hi' })
  const scriptRecord = await request(server.url, `/api/executions/${String(said['execution_id'])}`)
  t.equal(scriptRecord.body['isolation'], 'sandbox')
  t.match(await run('text', 'count', { text: 'a b' }), { status: 'success' }, 'bundled skills are trusted')
  t.equal(await server.stop(), 0)
})

t.test('what is trusted runs outside of it, and so does everything when it is off', { skip }, async t => {
  const required = ['--isolation-mode', 'required', '--trust', home.skills]
  t.match(await skillet(home, ['run', 'code:hi', ...required]), { status: 0, stdout: /hi/ })
  t.match(await skillet(home, ['run', 'probe:write', ...required]), { status: 0 })
  t.ok(existsSync(marker))
  t.match(await skillet(home, ['run', 'code:hi']), { status: 0, stdout: /hi/ })
})

t.test('with isolation.mode = "auto", a script runs in the sandbox, and ends with a server that is killed', { skip }, async t => {
  for (let round = 0; round < 3; round++) {
    const server = await startServer(home, ['--isolation-mode', 'auto'])
    t.teardown(() => server.kill())
    t.match(await request(server.url, '/api/execute', { skill_name: 'code', tool_name: 'hi', parameters: {} }), {
      body: { status: 'success', output: 'hi' }
    })
    request(server.url, '/api/execute', { skill_name: 'code', tool_name: 'loop', parameters: {} }).catch(() => {})
    const list = async (): Promise<unknown> =>
      (await request(server.url, '/api/executions?status=running')).body['executions']
    await until(async () => JSON.stringify(await list()).includes('loop'))
    const all = below(server.pid)
    t.ok(all.length >= 3)
    server.kill()
    await gone(all)
  }
})

t.test('a list in permissions.network is what a command reaches, and the server itself is not', { skip }, async t => {
  const web = await startWebServer((_request, reply) => { reply.end('reached') })
  t.teardown(() => { web.close() })
  const code = `
    const { username, password, hostname, port } = new URL(process.env.http_proxy)
    const place = process.argv[1]
    const socket = require('net').connect(port, hostname)
    socket.write('CONNECT ' + place + ' HTTP/1.1\\r\\nHost: ' + place + '\\r\\nProxy-Authorization: Basic ' +
      btoa(username + ':' + password) + '\\r\\n\\r\\n')
    socket.once('data', reply => {
      const [, status] = String(reply).split(' ')
      console.log(status)
      if (status !== '200') process.exit(3)
      socket.on('data', data => console.log(String(data))).on('end', () => process.exit())
      socket.write('GET / HTTP/1.1\\r\\nHost: ' + place + '\\r\\nConnection: close\\r\\n\\r\\n')
    })`
  const listed = join(home.skills, 'listed')
  mkdirSync(listed)
  writeFileSync(join(listed, 'skill.toml'), `description = "Reach a place"
[permissions]
network = ["${web.host}"]
read = [${JSON.stringify(dirname(node))}]
[[tools]]
name = "get"
description = "Get"
cwd = "/"
command = [${JSON.stringify(node)}, "-e", ${JSON.stringify(code)}, "{{place}}"]
[[tools.parameters]]
name = "place"
type = "string"
description = "Host and port"
required = true
`)
  const server = await startServer(home, ['--isolation-mode', 'required'])
  t.teardown(() => server.kill())
  const get = async (place: string): Promise<Record<string, unknown>> => {
    const call = { skill_name: 'listed', tool_name: 'get', parameters: { place } }
    return (await request(server.url, '/api/execute', call)).body
  }
  t.match(await get(web.host), { status: 'success', output: /^200\n[^]*reached/ })
  const own = new URL(server.url).host
  const refused = await get(own)
  const message = `listed may not reach ${own}: permissions.network lists ${web.host}`
  t.match(refused, { error: { code: 'TOOL_EXECUTION_FAILED', details: { exit_code: 3, network: [message] } } })
  t.equal(await server.stop(), 0)
})
