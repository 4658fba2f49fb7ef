import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { whyNoScriptSandbox } from '../../plugins/executor-worker/confined/probe.ts'
import { confinedProgram } from '../../plugins/toolkit/sandbox/confined-program.ts'
import type { Call } from '../conformance/executor.ts'
import { runAsNobody, whyNotAsNobody } from '../support/confined.ts'
import { openScripts, scriptCall, type Permissions } from '../support/confined-scripts.ts'
import { startWebServer } from '../support/web-server.ts'

// What scripts reach whose skill lists it in permissions.network.

const missing = await whyNoScriptSandbox(confinedProgram())
const skip = missing === undefined ? false : `no sandbox here: ${missing}`
t.setTimeout(280_000)

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0
const reach = (way: string, url: string, permissions: Permissions, directory = '/reaching'): Call =>
  scriptCall('reach', 'reach', { way, url }, permissions, { directory, name: 'reaching' })

interface Servers {
  schemes: string[]
  named: Record<string, string>
  other: Record<string, string>
  /** What the other ones were asked. */
  asked: string[]
}

/** Two servers of the web on this machine: the first of each pair is to be named in the list. */
async function startServers (t: Test): Promise<Servers> {
  const asked: string[] = []
  const servers = await Promise.all([0, 1].map(() => startWebServer((_request, reply) => { reply.end('reached') })))
  t.teardown(() => { for (const server of servers) server.close() })
  const [named, other] = servers
  const urls = { named: { http: named?.url ?? '' }, other: { http: other?.url ?? '' } }
  if (!has('openssl')) return { schemes: ['http'], ...urls, asked: other?.asked ?? asked }
  const folder = mkdtempSync(join(tmpdir(), 'skillet-tls-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  const [key = '', cert = ''] = ['key.pem', 'cert.pem'].map(name => join(folder, name))
  spawnSync('openssl', [
    'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '2',
    '-subj', '/CN=localhost'
  ])
  const [secure, otherSecure] = await Promise.all([0, 1].map(async at => {
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, reply) => {
      if (at === 1) other?.asked.push(request.url ?? '')
      reply.end('reached')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => { server.close(); server.closeAllConnections() })
    return `https://localhost:${(server.address() as AddressInfo).port}` // of a server that listens on a port
  }))
  return {
    schemes: ['http', 'https'], named: { ...urls.named, https: secure ?? '' },
    other: { ...urls.other, https: otherSecure ?? '' }, asked: other?.asked ?? asked
  }
}

t.test('fetch and the modules of Node reach what the list names, and nothing else', { skip }, async t => {
  const { run, lines } = await openScripts(t, { mode: 'required' })
  const { schemes, named, other, asked } = await startServers(t)
  const network = schemes.map(scheme => new URL(named[scheme] ?? '').host)
  for (const scheme of schemes) {
    for (const way of ['fetch', 'module', 'named', 'agent', 'noAgent', ...(has('curl') ? ['curl'] : [])]) {
      const reached = await run(reach(way, named[scheme] ?? '', { network }))
      t.match(reached, { status: 'success', output: 'reached', isolation: 'sandbox' }, `${way}, ${scheme}`)
      const place = new URL(other[scheme] ?? '').host
      const message = `reaching may not reach ${place}: permissions.network lists ${network.join(', ')}`
      const refused = await run(reach(way, other[scheme] ?? '', { network }))
      t.match(refused, {
        status: 'failed', logged: [message], error: { details: { network: [message] } }
      }, `${way}, ${scheme}, another port`)
      if (way !== 'curl') t.match(refused, { error: { message: /may not reach/ } }, 'its error says why')
      t.ok(lines.includes(message), 'and the log')
    }
  }
  t.same(asked, [])
})

t.test('there is no other way out of the process than the proxy', { skip }, async t => {
  const { run } = await openScripts(t, { mode: 'required' })
  const server = await startWebServer((_request, reply) => { reply.end('reached') })
  t.teardown(() => { server.close() })
  for (const way of ['net', 'tls', 'udp', 'folder']) {
    const outcome = await run(reach(way, server.url, { network: [server.host] }))
    t.match(outcome, { status: 'failed', error: { message: /ECONNREFUSED|ENETUNREACH|EACCES|can't be reached/ } }, way)
  }
  t.same(server.asked, [])
  for (const way of ['fetch', 'module', 'net']) {
    t.equal((await run(reach(way, server.url, { network: false }))).status, 'failed', `${way}, without a list`)
    t.match(await run(reach(way, server.url, { network: true })), { output: /reached/ }, `${way}, with all of it`)
  }
})

t.test('a token holds in the process that has it, and as long as that lives', { skip }, async t => {
  const { run } = await openScripts(t, { mode: 'required' })
  const server = await startWebServer((_request, reply) => { reply.end('reached') })
  t.teardown(() => { server.close() })
  const network = [server.host]
  const skillOf = (name: string) => ({ directory: `/${name}`, name })
  const token = async (name: string): Promise<string> => {
    const { output } = await run(scriptCall('reach', 'token', {}, { network }, skillOf(name)))
    return Buffer.from(decodeURIComponent(/\/\/(.*)@/.exec(output)?.[1] ?? '')).toString('base64')
  }
  const ask = (name: string, credentials: string | undefined, permissions: Permissions = { network }) => {
    const header = credentials === undefined ? '' : `Proxy-Authorization: Basic ${credentials}\r\n`
    const text = `GET ${server.url}/ HTTP/1.1\r\nHost: ${server.host}\r\n${header}\r\n`
    return run(scriptCall('reach', 'ask', { text }, permissions, skillOf(name)))
  }
  const [first, second] = [await token('first'), await token('second')]
  t.not(first, second)
  t.match(await ask('first', first), { output: /^HTTP\/1.1 200/ })
  t.match(await ask('first', undefined), { output: /^HTTP\/1.1 407/ }, 'without one')
  t.match(await ask('first', second), { output: /^HTTP\/1.1 407/ }, "another skill's")
  const writing = { network, write: ['/var/tmp'] }
  t.match(await ask('first', first, writing), { output: /^HTTP\/1.1 407/ }, "another process's of its own skill")
  const crash = scriptCall('escapes', 'attack', { kind: 'exit' }, { network }, skillOf('third'))
  t.match(await run(crash), { status: 'failed' })
  t.same(server.asked.length, 1)
})

t.test('connections that are kept do not end the process between runs', { skip }, async t => {
  const { run } = await openScripts(t, { mode: 'required', level: 'strict' })
  const server = await startWebServer((_request, reply) => { reply.end('reached') })
  t.teardown(() => { server.close() })
  const tokens = new Set<string>()
  for (let i = 0; i < 4; i++) {
    const network = [server.host]
    t.match(await run(reach('fetch', server.url, { network })), { output: 'reached', isolation: 'strict' })
    const skill = { directory: '/reaching', name: 'reaching' }
    tokens.add((await run(scriptCall('reach', 'token', {}, { network }, skill))).output)
  }
  t.ok(tokens.size <= 2, 'in one process, or a second one where the first was not free in time')
})

t.test('a list that can not be read is a failure that says why', { skip }, async t => {
  const { run } = await openScripts(t, { mode: 'required' })
  t.match(await run(reach('fetch', 'http://example.org', { network: ['*'] })), {
    status: 'failed', error: { message: /reaching can't run: permissions\/network: "\*" means every host/ }
  })
})

const file = fileURLToPath(import.meta.url)
const alone = skip === false ? whyNotAsNobody(file) : skip
t.test('all of this holds for an ordinary user as well', { skip: alone, timeout: 270_000 }, async t => {
  const { code, failed, output } = await runAsNobody(file)
  t.equal(code, 0, failed)
  t.match(output, /there is no other way out/)
})
