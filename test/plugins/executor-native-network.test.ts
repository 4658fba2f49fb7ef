import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { silentLogger, type Executor, type Logger, type Outcome } from '../../kernel/index.ts'
import { HelperProcess, type HelperAnswer } from '../../plugins/executor-native/helper-process.ts'
import { confinedHelper } from '../../plugins/executor-native/helper-program.ts'
import native from '../../plugins/executor-native/index.ts'
import { whyNoSandbox } from '../../plugins/executor-native/sandbox/probe.ts'
import { tryHelper } from '../../plugins/executor-native/try-helper.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'
import { commandCall, runCall } from '../support/native.ts'
import { startWebServer, type WebServer } from '../support/web-server.ts'

const missing = await whyNoSandbox(confinedHelper())
const skip = missing === undefined ? false : `no sandbox here: ${missing}`
t.setTimeout(300_000)

type Call = ReturnType<typeof commandCall>
type Network = Call['skill']['permissions']['network']

interface Opened { executor: Executor, lines: string[] }

async function open (t: Test, mode: 'required' | 'off' = 'required'): Promise<Opened> {
  const lines: string[] = []
  const note = (_data: object | string, text?: string): void => { if (text !== undefined) lines.push(text) }
  const log: Logger = { ...silentLogger, info: note }
  const { service: executor, close } = await openPlugin(native, { config: { isolation: { mode } }, log })
  t.teardown(close)
  return { executor, lines }
}

/** A script of a skill that is not trusted. */
function bash (script: string, network: Network, name = 'subject', directory = '/usr'): Call {
  const call = commandCall(['bash', '-c', '{{script}}'], { script }, { directory })
  const permissions = { ...call.skill.permissions, network }
  return { ...call, skill: { ...call.skill, name, trusted: false, permissions } }
}

/** Runs a script, and tells what it printed, on either stream. */
async function said (executor: Executor, call: Call): Promise<string> {
  const outcome: Outcome = await runCall(executor, call)
  const { stderr = '' } = outcome.status === 'failed' ? outcome.error.details : {}
  return `${outcome.output}${String(stderr)}`
}

async function serve (t: Test, text = 'reached'): Promise<WebServer> {
  const server = await startWebServer((_request, reply) => { reply.end(`${text}\n`) })
  t.teardown(() => { server.close() })
  return server
}

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0
/** A request by bash alone, so that a test can say what it likes. @param token the credentials that it sends */
const byHand = (place: string, token = '$TOKEN'): string => `
  TOKEN=$(printf %s "$http_proxy" | sed 's|http://\\(.*\\)@.*|\\1|')
  exec 3<>/dev/tcp/127.0.0.1/3128
  printf 'CONNECT ${place} HTTP/1.1\\r\\nHost: ${place}\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\n' "$(printf %s "${token}" | base64 -w0)" >&3
  read -r answer <&3; printf '%s\\n' "$answer"`
const throughIt = `; while read -r line <&3 && [ "$line" != $'\\r' ]; do :; done
  printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`

t.test('programs reach what the list names, and nothing else', { skip }, async t => {
  const { executor, lines } = await open(t)
  const [named, other] = [await serve(t), await serve(t)]
  const list = [named.host]
  const node = (url: string): string => `${process.execPath} -e 'fetch("${url}").then(r => r.text()).then(console.log, e => console.log(e.cause?.message ?? e.message))'`
  const programs: Record<string, { needs: boolean, get: (url: string) => string, refusal?: RegExp }> = {
    'curl': { needs: has('curl'), get: url => `curl -sS ${url}` },
    'curl by CONNECT': { needs: has('curl'), get: url => `curl -sS -p ${url}`, refusal: /403/ },
    'python3': {
      needs: has('python3'), refusal: /403/,
      get: url => `python3 -c 'import urllib.request as u; print(u.urlopen("${url}").read())'`
    },
    'node': {
      needs: Number(process.versions.node.split('.')[0]) >= 24, get: node,
      refusal: /may not reach|fetch failed|cancelled|403/
    },
    'bash by hand': { needs: true, get: url => byHand(new URL(url).host) + throughIt, refusal: /403 Forbidden/ }
  }
  for (const [name, { needs, get, refusal = /may not reach/ }] of Object.entries(programs)) {
    if (!needs) {
      t.pass(`${name} is not here, or does not know proxies`)
      continue
    }
    t.match(await said(executor, bash(get(named.url), list)), /reached/, name)
    const refused = await said(executor, bash(get(other.url), list))
    t.match(refused, refusal, `${name} is refused another port`)
    t.notMatch(refused, /reached/)
  }
  t.same(other.asked, [])
  t.ok(
    lines.includes(`subject may not reach ${other.host}: permissions.network lists ${named.host}`), 'the log says why'
  )
})

t.test('a failure has what was refused in its record', { skip }, async t => {
  const { executor, lines } = await open(t)
  const call = bash(`${byHand('example.org:443')}; ${byHand('example.org:443')}; exit 3`, ['127.0.0.1:1'])
  const message = 'subject may not reach example.org:443: permissions.network lists 127.0.0.1:1'
  t.match(await runCall(executor, call), {
    status: 'failed', error: { details: { exit_code: 3, network: [message] } }
  })
  t.same(lines.filter(line => line === message), [message], 'once')
})

t.test('there is no other way out than the proxy', { skip }, async t => {
  const server = await serve(t)
  const udp = createSocket('udp4')
  let packets = 0
  udp.on('message', () => { packets++ })
  await new Promise<void>(resolve => { udp.bind(0, '127.0.0.1', resolve) })
  t.teardown(() => { udp.close() })
  const { port: udpPort } = udp.address()
  const direct = `exec 3<>/dev/tcp/127.0.0.1/${server.port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3; exit 0`
  const datagram = `echo x > /dev/udp/127.0.0.1/${udpPort}; exit 0`
  const outward = 'exec 3<>/dev/tcp/93.184.216.34/80 || echo unreachable; exit 0'
  const lookup = `${process.execPath} -e 'require("dns").resolve4("example.org", e => console.log(e?.code))'`
  const plain = await open(t, 'off')
  t.match(
    await said(plain.executor, bash(direct, ['example.org'])), /reached/, 'without a sandbox, a list is not enforced'
  )
  await said(plain.executor, bash(datagram, ['example.org']))
  await until(() => packets === 1)
  const { executor } = await open(t)
  t.match(
    await said(executor, bash(`${direct} 2>&1`.replace('; exit 0 2>&1', ' 2>&1; exit 0'), [server.host])),
    /^((?!reached)[^])*$/
  )
  t.equal(server.asked.length, 1)
  await said(executor, bash(datagram, [server.host]))
  t.match(await said(executor, bash(outward, [server.host])), /unreachable/)
  t.match(await said(executor, bash(lookup, [server.host])), /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEOUT/)
  t.equal(packets, 1)
})

t.test('a token is worth something for its own run only, and as long as it runs', { skip }, async t => {
  const { executor } = await open(t)
  const server = await serve(t)
  const list = [server.host]
  const token = 'printf %s "$http_proxy" | sed "s|http://\\(.*\\)@.*|\\1|"'
  const past = await said(executor, bash(token, list))
  t.match(past, /^run:\w+\.[\w-]{43}$/)
  const use = async (token: string, name?: string, directory?: string): Promise<string> =>
    await said(executor, bash(byHand(server.host, token) + throughIt, list, name, directory))
  t.match(await use('$TOKEN'), /reached/)
  t.match(await use(past), /407/, 'of a run that has ended')
  t.match(await use('run:x'), /407/)
  t.match(await use(''), /407/)
  const abort = new AbortController()
  let printed = ''
  const waits = executor.run(
    { execution_id: 'x', ...bash(`${token}; sleep 100`, list), timeout_ms: 60_000, config: {} },
    { started () {}, progress () {}, log () {}, output (text) { printed += text } },
    abort.signal
  )
  await until(() => printed.length > 43)
  t.match(await use(printed, 'other', '/etc'), /407/, 'of a run of another skill')
  t.match(await use(printed), /reached/, 'a command of the same skill, with the same list, may as well use its own')
  abort.abort()
  await waits
  t.match(await use(printed), /407/)
})

t.test('connections end with their run', { skip }, async t => {
  const { executor } = await open(t)
  const open_ = new Set<Socket>()
  const server = createServer(socket => {
    open_.add(socket)
    socket.on('error', () => {}).resume().once('close', () => { open_.delete(socket) })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
  const call = bash(`${byHand(place)}; sleep 100`, [place])
  t.match(await runCall(executor, call, 1_000), { status: 'timeout', output: /200/ })
  await until(() => open_.size === 0)
})

t.test('two skills share no network, though their lists are the same', { skip }, async t => {
  const { executor } = await open(t)
  const serving = `${process.execPath} -e 'require("net").createServer(s => s.end("inside")).listen(5555, "127.0.0.1", () => console.log("ready")); setTimeout(() => process.exit(), 20000)'`
  let printed = ''
  const abort = new AbortController()
  const waits = executor.run(
    { execution_id: 'x', ...bash(serving, ['127.0.0.1:5555']), timeout_ms: 60_000, config: {} },
    { started () {}, progress () {}, log () {}, output (text) { printed += text } },
    abort.signal
  )
  await until(() => printed.includes('ready'))
  const look = 'cat < /dev/tcp/127.0.0.1/5555; exit 0'
  t.notMatch(await said(executor, bash(look, ['127.0.0.1:5555'], 'other', '/etc')), /inside/)
  abort.abort()
  await waits
})

t.test('a thousand connections of one skill leave the others theirs', { skip }, async t => {
  const { executor } = await open(t)
  const server = await serve(t)
  const flood = `${process.execPath} -e 'let n = 0; for (let i = 0; i < 1000; i++) require("net").connect(3128, "127.0.0.1").on("error", () => {}).on("connect", () => { if (++n === 200) console.log("many") }); setTimeout(() => process.exit(), 20000)'`
  let printed = ''
  const abort = new AbortController()
  const waits = executor.run(
    { execution_id: 'x', ...bash(flood, [server.host]), timeout_ms: 60_000, config: {} },
    { started () {}, progress () {}, log () {}, output (text) { printed += text } },
    abort.signal
  )
  await until(() => printed.includes('many'))
  t.match(await said(executor, bash(byHand(server.host) + throughIt, [server.host], 'other', '/etc')), /reached/)
  abort.abort()
  await waits
})

t.test('where the way to the proxy can\'t be had, no command runs', { skip }, async t => {
  const program = confinedHelper()
  if (program === undefined) throw new Error('there is a sandbox, and no helper')
  const args = ['--sandbox', '--network', 'off', '--proxy', '3128']
  const attempt = async (more: object): Promise<HelperAnswer> => {
    const helper = new HelperProcess({ ...program, args, ...more })
    t.teardown(() => helper.close())
    helper.keepRules(1, [{ path: '/', access: 'read' }], { memory_bytes_max: 0, processes_max: 0, cpu_ms_max: 0 })
    return await tryHelper(helper, { PATH: process.env['PATH'] ?? '' }, 1)
  }
  t.match(await attempt({ takeSocket: async () => () => {} }), { type: 'ended', exit_code: 0 }, 'it could be had')
  t.match(await attempt({}), { type: 'lost', reason: /the way to the proxy/ }, 'nobody takes the socket')
  const takeSocket = async (): Promise<never> => { throw new Error('it can\'t be served') }
  t.match(await attempt({ takeSocket }), { type: 'lost', reason: /it can't be served/ })
  const { executor } = await open(t)
  t.match(await runCall(executor, bash('echo ran', ['https://example.org'])), {
    status: 'failed', output: '',
    error: { message: /^subject can't run: permissions\/network: "https:\/\/example\.org" is a URL/ }
  })
})

/** The number of the user `nobody`, which owns nothing. */
const nobody = 65_534
const asNobody = { uid: nobody, gid: nobody, env: { PATH: process.env['PATH'], TAP_TIMEOUT: '280' } }
const file = fileURLToPath(import.meta.url)
const canRead = (): boolean => {
  return spawnSync(process.execPath, ['-e', `require('fs').accessSync(${JSON.stringify(file)})`], asNobody).status === 0
}
const alone = skip !== false
  ? skip
  : process.getuid?.() !== 0 ? 'only root can be another user' : canRead() ? false : 'these files are root\'s alone'

t.test('all of this holds for an ordinary user as well', { skip: alone, timeout: 290_000 }, async t => {
  const child =
    spawn(process.execPath, ['--enable-source-maps', file], { ...asNobody, stdio: ['ignore', 'pipe', 'inherit'] })
  const output = (await child.stdout.setEncoding('utf8').toArray()).join('')
  const failures = output.split('\n').filter(line => /not ok/.test(line)).join('\n')
  t.equal(child.exitCode ?? (await once(child, 'close'))[0], 0, failures)
  t.match(output, /ok \d+ - there is no other way out than the proxy/)
})
