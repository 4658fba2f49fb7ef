import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import {
  isObject, type Executor, type Isolation, type JsonObject, type Outcome, type SkillDefinition
} from '../../kernel/index.ts'
import { whyNoScriptSandbox } from '../../plugins/executor-worker/confined/probe.ts'
import plugin from '../../plugins/executor-worker/index.ts'
import { confinedProgram } from '../../plugins/toolkit/sandbox/confined-program.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'
import { until } from '../../plugins/testing/until.ts'
import { testExecutor, type Call } from '../conformance/executor.ts'
import { below, gone } from '../support/processes.ts'
import type { Attacked } from '../support/script-attack.ts'

const missing = await whyNoScriptSandbox(confinedProgram())
const skip = missing === undefined ? false : `no sandbox here: ${missing}`
t.setTimeout(300_000)

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/executor-worker/${name}.mjs`, import.meta.url))

/** A call of a script by a skill that is not trusted. */
const call = (name: string, parameters: JsonObject = {}, skill: Partial<SkillDefinition> = {}): Call =>
  callOf('script', { name }, parameters, { module: fixture('subject'), trusted: false, ...skill })

if (skip === false) testExecutor('executor-worker in a sandbox', {
  async open (config) {
    const { service: executor, close } = await openPlugin(plugin, {
      config: { ...config, isolation: { mode: 'required' } }
    })
    return { executor, close }
  },
  isolation: 'sandbox',
  calls: {
    echo: text => call('echo', { text }),
    fail: message => call('fail', { message }),
    sleep: ms => call('sleep', { ms }),
    hang: () => call('hang'),
    output: bytes => call('output', { bytes }),
    append: (file, text) => call('append', { file, text }, {
      permissions: { network: false, write: ['{{file}}'], env: [], secrets: [] }
    })
  },
  concurrency: { config: { execution: { threads: 2 } }, limit: 2, hang: call('hang') }
})

// /tmp is another one in the sandbox: a home below it would not be seen there at all.
const home = mkdtempSync('/var/tmp/skillet-scripts-')
t.teardown(() => { rmSync(home, { recursive: true, force: true }) })
const data = join(home, 'data')
for (const [path, text] of Object.entries({
  'data/history.mdb': 'secret history', 'data/cache/skills/module.mjs': readFileSync(fixture('escapes'), 'utf8'),
  'home/.ssh/id_rsa': 'secret key', 'home/.config/skillet/config.toml': 'secret settings',
  'home/.config/skillet/secrets.env': 'secret value', 'home/.config/skillet/skills/other/notes.txt': 'notes of another',
  'home/open.txt': 'open'
})) {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}
const user = join(home, 'home')
const program = fileURLToPath(new URL('../support/script-attack.js', import.meta.url))

/** A server that a script attacks: what became of it, and what it told. */
interface Server { died: string | undefined, told: Attacked | undefined, pid: number }

/** Starts a server of its own, which one script attacks, beside another. */
async function attack (
  mode: 'off' | 'auto' | 'strict', kind: string, more: JsonObject = {}, module = 'escapes'
): Promise<Server> {
  const file = module === 'escapes' ? fixture(module) : module
  const child = spawn(process.execPath, [program, mode, data, file, JSON.stringify({ kind, ...more })], {
    env: { PATH: process.env['PATH'], HOME: user, SERVER_SECRET: 'of the server' },
    stdio: ['ignore', 'pipe', 'ignore']
  })
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  return {
    died: child.exitCode === 0 ? undefined : child.signalCode ?? `code ${child.exitCode}`,
    told: text === '' ? undefined : JSON.parse(text) as Attacked,
    pid: child.pid ?? 0
  }
}

/** Does something with each, a few at a time. */
async function eachTogether<T> (items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const takeAll = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all([takeAll(), takeAll(), takeAll()])
}

/** A library that accesses memory that is not there, as soon as it is loaded: a native call that crashes. */
function compileSegfault (): string {
  const library = join(home, 'segfault.node')
  const code = '__attribute__((constructor)) static void crash(void) { *(volatile int *)8 = 1; }'
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', '-o', library], { input: code })
  if (status !== 0) throw new Error(`no library: ${String(stderr)}`)
  return library
}

const textOf = (outcome: Outcome | undefined): string =>
  outcome?.status === 'failed' ? outcome.error.message : outcome?.output ?? ''

t.test('what a script can do to its own process harms its own run only', { skip }, async t => {
  const ended = /ended its process/
  const sent = /since it sent the server/
  const memory = /ran out of memory/
  /** What becomes of the run, and whether a server with threads is ended by it, where that is safe to show. */
  const attacks: Record<string, { becomes: RegExp, ends?: true }> = {
    segfault: { becomes: /ended its process/, ends: true },
    kill: { becomes: ended, ends: true }, crash: { becomes: ended, ends: true }, abort: { becomes: ended },
    close: { becomes: ended, ends: true }, exit: { becomes: ended }, killAll: { becomes: /ESRCH|ended its process/ },
    buffer: { becomes: memory }, shared: { becomes: memory }, wasm: { becomes: memory }, heap: { becomes: memory },
    child: { becomes: memory },
    garbage: { becomes: sent }, long: { becomes: sent }, deep: { becomes: sent }, notJson: { becomes: sent },
    others: { becomes: sent }, shapes: { becomes: sent }, ready: { becomes: sent }, again: { becomes: sent },
    flood: { becomes: sent },
    missing: { becomes: /too short|invalid ELF/ }, inspect: { becomes: /^opened$/ }, patch: { becomes: /^patched$/ },
    spin: { becomes: /^$/ }, bomb: { becomes: /memory|^$/ }
  }
  /** One of each sort is tried at the level `strict` too. */
  const strictly = new Set(['segfault', 'kill', 'close', 'wasm', 'child', 'notJson', 'shapes', 'patch', 'missing'])
  const library = compileSegfault()
  await eachTogether(Object.entries(attacks), async ([kind, { becomes, ends }]) => {
    if (ends === true) t.ok((await attack('off', kind, { library })).died, `${kind}: ends a server with threads`)
    for (const mode of strictly.has(kind) ? ['auto', 'strict'] as const : ['auto'] as const) {
      const { died, told } = await attack(mode, kind, { library })
      t.equal(died, undefined, `${kind}: the server goes on`)
      t.match(textOf(told?.attack), becomes, `${kind}: its own run`)
      t.equal(told?.isolation, mode === 'auto' ? 'sandbox' : 'strict')
      t.match(told, {
        during: { status: 'success', output: 'slept' }, after: { status: 'success', output: 'well' },
        // What a skill has broken it may meet itself, and no other.
        ...(kind !== 'patch' && { again: { status: 'success', output: 'again' } })
      }, `${kind}: the runs beside it and after it`)
    }
  })
  t.equal((await attack('auto', 'spin')).told?.attack.status, 'timeout')
})

t.test('what a script can read and reach, it can no more in the sandbox', { skip }, async t => {
  const tcp = createServer(socket => { socket.end('reached') }).listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  t.teardown(() => tcp.close())
  const address: unknown = tcp.address()
  const port = isObject(address) ? address['port'] : 0
  const denied = /EACCES|EPERM|ENOENT|^$/ // a hidden file is empty
  const reads = [
    ['history.mdb', data, 'secret history'], ['.ssh/id_rsa', user, 'secret key'],
    ['.config/skillet/config.toml', user, 'secret settings'], ['.config/skillet/secrets.env', user, 'secret value'],
    ['.config/skillet/skills/other/notes.txt', user, 'notes of another']
  ].map(([path = '', folder = '', text = '']) =>
    ({ kind: 'read', more: { path: join(folder, path) }, harms: new RegExp(text), stopped: denied }))
  const attacks = [
    ...reads,
    { kind: 'list', more: { path: data }, harms: /history/, stopped: denied },
    { kind: 'environments', more: {}, harms: /of the server/, stopped: /^(?!.*of the server)/s },
    { kind: 'connect', more: { port }, harms: /reached/, stopped: /ECONNREFUSED|ENETUNREACH|EACCES/ }
  ]
  await eachTogether(attacks, async ({ kind, more, harms, stopped }) => {
    const name = `${kind} ${JSON.stringify(more)}`
    t.match(textOf((await attack('off', kind, more)).told?.attack), harms, `${name}: in a thread`)
    for (const mode of ['auto', 'strict'] as const) {
      const { told } = await attack(mode, kind, more)
      t.match(textOf(told?.attack), stopped, `${name}: with ${mode}`)
      t.equal(told?.isolation, mode === 'auto' ? 'sandbox' : 'strict')
    }
  })
  t.match(textOf((await attack('auto', 'read', { path: join(user, 'open.txt') })).told?.attack), /^open$/)
  const hidden = join(data, 'cache/skills/module.mjs')
  const { told } = await attack('auto', 'inspect', {}, hidden)
  t.match(told?.again, { output: 'again' }, 'a module in the cache is found')
})

interface Started {
  executor: Executor
  run (call: Call, options?: RunOptions): Promise<Outcome>
  isolations: Isolation[]
}
interface RunOptions { timeout_ms?: number, signal?: AbortSignal, secrets?: Record<string, string> }

async function open (test: Test, mode: 'auto' | 'required' = 'required', options: JsonObject = {}): Promise<Started> {
  const { service: executor, close } = await openPlugin(plugin, {
    config: { isolation: { mode }, execution: { threads: 2 }, plugin: { 'executor-worker': options } }
  })
  test.teardown(close)
  const isolations: Isolation[] = []
  let runs = 0
  const run: Started['run'] = (call, { timeout_ms = 60_000, signal = new AbortController().signal, secrets } = {}) =>
    executor.run(
      { execution_id: `run-${++runs}`, ...call, timeout_ms, config: {}, ...(secrets !== undefined && { secrets }) },
      { started (isolation) { isolations.push(isolation) }, progress () {}, log () {} }, signal
    )
  return { executor, run, isolations }
}

const attacker = (kind: string, more: JsonObject = {}, skill: Partial<SkillDefinition> = {}): Call =>
  callOf('script', { name: 'attack' }, { kind, ...more }, { module: fixture('escapes'), trusted: false, ...skill })

t.test('what a script leaves behind is ended with its process', { skip }, async t => {
  const { run } = await open(t)
  const mark = `skillet-left-${process.pid}`
  const runs = (): boolean => spawnSync('pgrep', ['-f', `: ${mark}`]).status === 0
  t.equal((await run(attacker('daemon', { mark }))).status, 'success')
  await until(() => !runs())
  await setTimeout(1000)
  t.notOk(runs())
})

t.test('runs that had not begun when the process ended run in another, and none twice', { skip }, async t => {
  const { run } = await open(t)
  const file = join(home, 'marks')
  writeFileSync(file, '')
  const permissions = { network: false, write: [file], env: [], secrets: [] }
  const skill = { directory: '/marks', permissions }
  const append = (text: string): Promise<Outcome> => run(call('append', { file, text: `${text}\n` }, skill))
  await append('first') // from now on its runs are known to be short
  const many = Array.from({ length: 100 }, (_, i) => append(`${i}`))
  const killed = run(call('exit', { code: 3 }, skill))
  const more = Array.from({ length: 100 }, (_, i) => append(`more ${i}`))
  t.equal((await killed).status, 'failed')
  for (const outcome of await Promise.all([...many, ...more])) t.equal(outcome.status, 'success')
  const lines = readFileSync(file, 'utf8').split('\n').filter(line => line !== '')
  t.equal(lines.length, 201)
  t.equal(new Set(lines).size, 201)
})

t.test('processes are bounded in number, and idle ones end', { skip }, async t => {
  const { run, executor } = await open(t, 'required', { processes: 4, idle_ms: 300 })
  for (let i = 0; i < 12; i++) {
    t.equal((await run(call('echo', { text: `${i}` }, { directory: `/skill-${i}` }))).output, `${i}`)
  }
  const size = (): number => 'size' in executor ? Number(executor.size) : 0
  t.ok(size() <= 4, 'no more processes than allowed')
  await until(() => size() === 0) // idle ones end
  const pid = process.pid
  await until(() => below(pid).length === 0)
})

t.test('a run is cancelled while it waits, loads and runs', { skip }, async t => {
  const { run } = await open(t)
  for (const wait_ms of [0, 1, 30, 400]) {
    const abort = new AbortController()
    const hung = run(call('hang', {}, { directory: '/hang' }), { signal: abort.signal })
    await setTimeout(wait_ms)
    abort.abort()
    t.equal((await hung).status, 'cancelled')
  }
  t.equal((await run(call('echo', { text: 'well' }, { directory: '/hang' }))).output, 'well')
})

t.test('trusted scripts stay in threads', { skip }, async t => {
  const { run, isolations } = await open(t, 'auto')
  t.equal((await run(call('echo', { text: 'a' }, { trusted: true }))).output, 'a')
  t.equal((await run(call('echo', { text: 'b' }))).output, 'b')
  t.same(isolations, ['thread', 'sandbox'])
})

t.test('what the server started ends when it is killed', { skip }, async t => {
  for (let round = 0; round < 3; round++) {
    const args = [program, 'auto', data, fixture('escapes'), JSON.stringify({ kind: 'linger' })]
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'], HOME: user }, stdio: 'ignore'
    })
    const pid = child.pid ?? 0
    await until(() => below(pid).length >= 7) // two scripts, each with its two processes before it, and a child
    const all = below(pid)
    child.kill('SIGKILL')
    await gone(all)
    t.pass('all are gone')
  }
})

/** The number of the user `nobody`, which owns nothing. */
const nobody = 65_534
const asNobody = { uid: nobody, gid: nobody, env: { PATH: process.env['PATH'], TAP_TIMEOUT: '280' } }
const file = fileURLToPath(import.meta.url)
const canRead = (): boolean => {
  const look = `require('fs').accessSync(${JSON.stringify(file)})`
  return spawnSync(process.execPath, ['-e', look], asNobody).status === 0
}
const alone = skip !== false
  ? skip
  : process.getuid?.() !== 0 ? 'only root can be another user' : canRead() ? false : 'these files are root\'s alone'

t.test('an ordinary user can confine scripts as well', { skip: alone }, async t => {
  const place = mkdtempSync('/var/tmp/skillet-nobody-')
  t.teardown(() => { rmSync(place, { recursive: true, force: true }) })
  chownSync(place, nobody, nobody)
  for (const [kind, becomes] of Object.entries({ kill: /SIGKILL/, buffer: /ran out of memory/, notJson: /no JSON/ })) {
    const args = [program, 'auto', place, fixture('escapes'), JSON.stringify({ kind })]
    const { stdout } = spawnSync(process.execPath, args, { ...asNobody, encoding: 'utf8' })
    const told = JSON.parse(stdout) as Attacked
    t.equal(told.isolation, 'sandbox')
    t.match(textOf(told.attack), becomes)
    t.match(told, { during: { output: 'slept' }, after: { output: 'well' }, again: { output: 'again' } })
  }
})
