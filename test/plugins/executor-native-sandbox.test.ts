import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { completeConfig } from '../../kernel/boot/config-load.ts'
import type { Confinement, Executor, JsonObject, Outcome } from '../../kernel/index.ts'
import { confinedHelper } from '../../plugins/executor-native/helper-program.ts'
import native from '../../plugins/executor-native/index.ts'
import { whyNoSandbox } from '../../plugins/executor-native/sandbox/probe.ts'
import { tryLevels } from '../../plugins/executor-native/sandbox/try-levels.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'
import { testExecutor } from '../conformance/executor.ts'
import { commandCall, runCall } from '../support/native.ts'
import { gone } from '../support/processes.ts'

type Call = ReturnType<typeof commandCall>
type Permissions = Partial<Call['skill']['permissions']>

const missing = await whyNoSandbox(confinedHelper())
const skip = missing === undefined ? false : `no sandbox here: ${missing}`
t.setTimeout(300_000)

// /tmp is another one in the sandbox: a home below it would not be seen there at all.
const home = mkdtempSync('/var/tmp/skillet-sandbox-')
t.teardown(() => { rmSync(home, { recursive: true, force: true }) })
for (const [path, text] of Object.entries({
  'home/.ssh/id_rsa': 'secret key', 'home/.config/gcloud/token': 'secret token', 'home/.config/other/settings': 'open',
  'home/notes.txt': 'open notes', 'home/project/main.c': 'int main;', 'home/skill/data.txt': 'of the skill',
  'data/history.mdb': 'secret history'
})) {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}
const user = join(home, 'home')
process.env['HOME'] = user
delete process.env['XDG_CONFIG_HOME']

/** This Node, where a confined command sees it. */
const node = process.execPath.startsWith('/tmp/') ? join(home, 'node') : process.execPath
if (node !== process.execPath) copyFileSync(process.execPath, node)

/** A call of a script by a skill that is not trusted. */
function untrusted (
  command: string[], permissions: Permissions = {}, parameters: JsonObject = {}, name = 'subject'
): Call {
  const call = commandCall(command, parameters, { directory: join(user, 'skill') })
  const skill = { ...call.skill, name, trusted: false, permissions: { ...call.skill.permissions, ...permissions } }
  return { ...call, skill }
}

const shell = (script: string, permissions: Permissions = {}, parameters: JsonObject = {}): Call =>
  untrusted(['sh', '-c', '{{script}}'], permissions, { script: `HOME=${user}; ${script}`, ...parameters })
const script = (text: string, permissions: Permissions = {}): Call =>
  untrusted([node, '-e', '{{text}}'], permissions, { text })

async function open (t: Test, mode: 'required' | 'off', level: Confinement = 'sandbox'): Promise<Executor> {
  const { service, close } = await openPlugin(native, {
    config: { isolation: { mode, level } }, data_dir: join(home, 'data')
  })
  t.teardown(close)
  return service
}

/** Runs a call, and tells what it printed, on either stream. */
async function said (executor: Executor, call: Call): Promise<string> {
  const outcome: Outcome = await runCall(executor, call)
  const { stderr = '' } = outcome.status === 'failed' ? outcome.error.details : {}
  return `${outcome.output}${String(stderr)}`
}

const listen = async (server: Server, at: number | string): Promise<Server> => {
  server.listen(typeof at === 'number' ? { host: '127.0.0.1', port: at } : { path: at })
  await once(server, 'listening')
  return server
}

if (missing === undefined) testExecutor('executor-native in a sandbox', {
  async open (config) {
    const { service: executor, close } = await openPlugin(native, {
      config: { ...config, isolation: { mode: 'required' } }
    })
    return { executor, close }
  },
  isolation: 'sandbox',
  calls: {
    echo: text => untrusted(['printf', '%s', '{{text}}'], {}, { text }),
    fail: message =>
      untrusted(['sh', '-c', 'printf "first line\\n%s\\n" "$1" >&2; exit 3', 'sh', '{{message}}'], {}, { message }),
    sleep: ms => shell(`sleep ${ms / 1000}; printf slept`),
    hang: () => untrusted(['sleep', '100000']),
    output: bytes => shell(`head -c ${bytes} /dev/zero | tr "\\0" x`),
    append: (file, text) => untrusted(
      ['sh', '-c', 'printf %s "$1" >> "$2"', 'sh', '{{text}}', '{{file}}'], { write: ['{{file}}'] }, { text, file }
    )
  },
  concurrency: { config: { execution: { processes: 3 } }, limit: 3, hang: untrusted(['sleep', '100000']) }
})

interface Attack {
  name: string
  call: Call
  /** What it prints where nothing stops it. */
  succeeds: RegExp
  /** What it prints in the sandbox. */
  stopped: RegExp
}

t.test('what a command can do to the machine, it can no more in the sandbox', { skip }, async t => {
  const tcp = await listen(createServer(socket => { socket.end('reached') }), 0)
  t.teardown(() => tcp.close())
  const address = tcp.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const path = join(user, 'service.sock')
  const unix = await listen(createServer(socket => { socket.end('reached') }), path)
  t.teardown(() => unix.close())
  const abstract = await listen(createServer(socket => { socket.end('reached') }), `\0skillet-${process.pid}`)
  t.teardown(() => abstract.close())
  const victim = spawn('sleep', ['1000'], { stdio: 'ignore' })
  t.teardown(() => victim.kill('SIGKILL'))
  const connect = (to: string, permissions?: Permissions): Call =>
    script(`require('net').connect(${to}).on('data', d => console.log(String(d))).on('error', e => console.log(e.code))`, permissions)
  const outside = join(tmpdir(), `skillet-outside-${process.pid}`)
  t.teardown(() => { rmSync(outside, { force: true }) })
  symlinkSync(join(user, '.ssh'), join(user, 'link'))
  const denied = /Permission denied|Read-only file system|Operation not permitted|No such file or directory|cannot/i
  const attacks: Attack[] = [
    { name: 'reads a key', call: shell('cat ~/.ssh/id_rsa'), succeeds: /secret key/, stopped: denied },
    { name: 'lists the folder of keys', call: shell('ls ~/.ssh'), succeeds: /id_rsa/, stopped: denied },
    { name: 'reads a key by a link', call: shell('cat ~/link/id_rsa'), succeeds: /secret key/, stopped: denied },
    {
      name: 'reads a token below .config', call: shell('cat ~/.config/gcloud/token'), succeeds: /secret token/,
      stopped: denied
    },
    {
      name: 'reads the history', call: shell(`cat ${home}/data/history.mdb`), succeeds: /secret history/,
      stopped: denied
    },
    {
      name: 'reads the variables of the server',
      call: shell(`tr '\\0' '\\n' < /proc/${process.pid}/environ`),
      succeeds: /^PATH=/m,
      stopped: denied
    },
    {
      name: 'sees the processes of the machine',
      call: shell(`test -e /proc/${victim.pid}/comm && cat /proc/${victim.pid}/comm || echo cannot`),
      succeeds: /sleep/,
      stopped: /cannot/
    },
    {
      name: 'signals a process',
      call: shell(`kill -0 ${victim.pid} && echo done`),
      succeeds: /done/,
      stopped: /No such process|not permitted/
    },
    {
      name: 'changes the priority of a process',
      call: shell(`renice -n 5 -p ${victim.pid} >/dev/null && echo done`),
      succeeds: /done/,
      stopped: /No such process|denied|not permitted/
    },
    { name: 'writes into the home', call: shell('echo x > ~/new && echo done'), succeeds: /done/, stopped: denied },
    {
      name: 'writes into its own folder',
      call: shell(`echo x > ${user}/skill/new && echo done`),
      succeeds: /done/,
      stopped: denied
    },
    {
      name: 'writes into /tmp of the machine',
      call: shell(`echo x > ${outside}; cat ${outside}`),
      succeeds: /x/,
      stopped: denied
    },
    {
      name: 'changes the mode of a file',
      call: shell('chmod 600 ~/notes.txt && echo done'),
      succeeds: /done/,
      stopped: denied
    },
    {
      name: 'changes the time of a file',
      call: shell('touch -d 2001-01-01 ~/notes.txt && echo done'),
      succeeds: /done/,
      stopped: denied
    },
    { name: 'removes a file', call: shell('rm ~/project/main.c && echo done'), succeeds: /done/, stopped: denied },
    {
      name: 'reaches a port of the machine',
      call: connect(`{ host: '127.0.0.1', port: ${port} }`),
      succeeds: /reached/,
      stopped: /ECONNREFUSED|ENETUNREACH|EACCES/
    },
    {
      name: 'reaches a socket of the machine',
      call: connect(`{ path: ${JSON.stringify(path)} }`),
      succeeds: /reached/,
      stopped: /EACCES/
    },
    {
      name: 'reaches an abstract socket',
      call: connect(`{ path: '\\0skillet-${process.pid}' }`),
      succeeds: /reached/,
      stopped: /EACCES|ECONNREFUSED/
    },
    {
      name: 'reaches a socket, though it may use the network',
      call: connect(`{ path: ${JSON.stringify(path)} }`, { network: true }),
      succeeds: /reached/,
      stopped: /EACCES/
    }
  ]
  for (const attack of attacks) {
    const open_ = await open(t, 'off')
    t.match(await said(open_, attack.call), attack.succeeds, `without a sandbox, a command ${attack.name}`)
    writeFileSync(join(user, 'project', 'main.c'), 'int main;')
    rmSync(outside, { force: true })
    for (const level of ['sandbox', 'strict'] as const) {
      const confined = await open(t, 'required', level)
      const printed = await said(confined, attack.call)
      t.match(printed, attack.stopped, `at the level ${level}, none ${attack.name}`)
      t.notMatch(printed, attack.succeeds)
    }
  }
  t.ok(existsSync(join(user, 'project', 'main.c')))
})

t.test('root gets no capability back, and no namespace, mount or setting of the system', { skip }, async t => {
  const executor = await open(t, 'required')
  t.match(await said(executor, shell('grep Cap /proc/self/status')), /CapEff:\s+0+\n[^]*CapBnd:\s+0+\n/)
  for (const command of [
    'unshare -r true', 'unshare -m true', 'unshare -n true', 'mount -t tmpfs none /mnt', 'mount -o remount,rw /',
    'umount /proc', 'umount /tmp', 'echo 1 > /proc/sys/kernel/core_pattern', 'echo h > /proc/sysrq-trigger',
    'kill -9 1', 'grep root /etc/shadow', 'cat /proc/1/environ', 'cat /proc/1/cmdline | grep -a hide',
    'ls /dev/shm/.. /dev/mem && cat /dev/mem', 'chroot / true', 'nsenter -t 1 -m true', 'hostname other',
    'date -s 2001-01-01', 'mknod /dev/shm/null c 1 3'
  ]) {
    t.match(
      await runCall(executor, shell(command)), { status: 'failed', error: { details: { exit_code: /[1-9]/ } } }, command
    )
  }
})

t.test('a command that crashes leaves no core dump, nor hands one to a program outside', { skip }, async t => {
  const executor = await open(t, 'required')
  t.match(await said(executor, shell('grep core /proc/self/limits')), /Max core file size\s+1\s+1\s/)
})

t.test('what a command may do by default', { skip }, async t => {
  const executor = await open(t, 'required')
  t.match(
    await said(executor, shell('cat ~/notes.txt ~/.config/other/settings ~/project/main.c ~/skill/data.txt')),
    /open notesopenint main;of the skill/
  )
  t.match(await said(executor, shell('echo x > $TMPDIR/a && cat $TMPDIR/a; echo y > /dev/shm/b && cat /dev/shm/b; echo z > /dev/null')), /x\ny/)
  t.match(
    await said(executor, script('console.log(require("os").cpus().length > 0, process.getuid())')),
    new RegExp(`true ${process.getuid?.()}`)
  )
  t.match(
    await said(executor, script('require("child_process").execFile("true", () => console.log("a pipe works"))')),
    /a pipe works/
  )
})

t.test('the folder for temporary files belongs to one run, and is gone after it', { skip }, async t => {
  const executor = await open(t, 'required')
  const first = (
    await said(executor, shell('mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c && chmod 0 $TMPDIR/a && echo $TMPDIR'))
  ).trim()
  t.match(first, /^\/tmp\/skill-\d+\/\d+$/)
  t.match(await said(executor, shell(`ls ${first} && echo there`)), /No such file/)
  t.notOk(existsSync(first), 'it was never on the machine')
  await said(executor, shell('echo left > /dev/shm/left; mkdir /dev/shm/folder'))
  t.equal(await said(executor, shell('ls -A /dev/shm')), '', 'shared memory is emptied')
  const other = untrusted(['sh', '-c', '{{script}}'], {}, { script: `ls -R /tmp; ls ${first}/..` }, 'other')
  t.match(
    await said(executor, { ...other, skill: { ...other.skill, directory: join(user, 'project') } }),
    /Permission denied|cannot open/
  )
})

t.test('permissions open what they name, and no more', { skip }, async t => {
  const executor = await open(t, 'required')
  const inProject = { write: [join(user, 'project')] }
  t.match(await said(executor, shell('echo x > ~/project/new && chmod 600 ~/project/new && mkdir ~/project/a && mv ~/project/new ~/project/a/ && echo done', inProject)), /done/)
  t.equal(readFileSync(join(user, 'project', 'a', 'new'), 'utf8'), 'x\n')
  t.match(await said(executor, shell('echo x > ~/other', inProject)), /Read-only|denied/)
  const named = { write: ['{{place}}'] }
  const strict = await open(t, 'required', 'strict')
  t.match(
    await said(executor, shell('echo x > ~/project/b && echo done', named, { place: join(user, 'project') })),
    /done/
  )
  for (const place of [
    '/', user, join(user, '.ssh'), join(user, '.ssh', 'id_rsa'), join(user, 'link'), join(home, 'data'), '/etc'
  ]) {
    for (const level of [executor, strict]) {
      t.match(
        await runCall(level, shell('echo x', named, { place })),
        { status: 'failed', error: { message: /may not write to .*: it holds/ } },
        place
      )
    }
  }
  t.match(await said(executor, shell('echo x > ~/project/c', named, { place: 'none' })), /denied|Read-only/)
  const reading = { read: [join(user, 'project')] }
  t.match(await said(executor, shell('cat ~/project/main.c', reading)), /int main/)
  t.match(await said(executor, shell('cat ~/notes.txt', reading)), /denied/)
  t.match(
    await said(executor, shell('cat ~/.ssh/id_rsa', { read: [user] })),
    /denied|No such file/,
    'what is secret must be named itself'
  )
  const tcp = await listen(createServer(socket => { socket.end('reached') }), 0)
  t.teardown(() => tcp.close())
  const address = tcp.address()
  const to = `require('net').connect(${typeof address === 'object' ? address?.port : 0}, '127.0.0.1').on('data', d => console.log(String(d))).on('error', e => console.log(e.code))`
  t.match(await said(executor, script(to, { network: true })), /reached/)
})

t.test('what is made after the start is secret too, and what is not becomes readable', { skip }, async t => {
  const executor = await open(t, 'required')
  t.match(await said(executor, shell('cat ~/.aws/credentials')), /No such file|denied/)
  mkdirSync(join(user, '.aws'))
  writeFileSync(join(user, '.aws', 'credentials'), 'secret credentials')
  mkdirSync(join(user, 'later'))
  writeFileSync(join(user, 'later', 'file'), 'made later')
  await until(async () => /made later/.test(await said(executor, shell('cat ~/later/file'))))
  t.match(await said(executor, shell('cat ~/.aws/credentials')), /denied/)
  const own = join(user, '.config', 'skillet')
  mkdirSync(join(own, 'skills', 'mine'), { recursive: true })
  writeFileSync(join(own, 'secrets.toml'), 'secret of a skill')
  writeFileSync(join(own, 'skills', 'mine', 'data'), 'own data')
  mkdirSync(join(home, 'keys'))
  writeFileSync(join(home, 'keys', 'key'), 'linked key')
  symlinkSync(join(home, 'keys'), join(user, '.gnupg'))
  await setTimeout(1_500)
  const mine = shell('cat ~/.config/skillet/skills/mine/data; cat ~/.config/skillet/secrets.toml ~/.gnupg/key')
  const printed = await said(executor, {
    ...mine, skill: { ...mine.skill, directory: join(own, 'skills', 'mine'), revision: '2' }
  })
  t.match(printed, /own data/)
  t.notMatch(printed, /secret of a skill|linked key/)
  t.notMatch(await said(executor, shell(`cat ${own}/skills/mine/data`)), /own data/, 'another skill\'s folder there')
})

t.test('nothing that a command started outlives it: not in a session of its own, and not by two forks', { skip }, async t => {
  const executor = await open(t, 'required')
  const names = Array.from({ length: 10 }, (_, i) => `straggler${process.pid}x${i}`)
  const running = (name: string): boolean => spawnSync('pgrep', ['-f', name]).status === 0
  const both = await Promise.all(names.map(async name => await runCall(
    executor,
    shell(`(setsid sh -c 'exec -a ${name} sleep 1000; sleep 1000 ${name}' &) ; (sh -c 'setsid sh -c "sleep 1000; : ${name}" & ' &) ; sleep 0.05`)
  )))
  t.same(both.map(({ status }) => status), names.map(() => 'success'))
  await until(() => !names.some(running))
  const stopped = runCall(executor, shell(`setsid sh -c "sleep 1000; : ${names[0]}" & sleep 1000`), 300)
  t.match(await stopped, { status: 'timeout' })
  await until(() => !names.some(running))
})

t.test('rules of many skills are kept and forgotten, and those in use stay', { skip }, async t => {
  const executor = await open(t, 'required')
  const revised = (revision: number): Call => {
    const call = shell('cat ~/notes.txt')
    return { ...call, skill: { ...call.skill, revision: String(revision) } }
  }
  const waits = runCall(executor, shell('sleep 3; cat ~/notes.txt; echo x > $TMPDIR/x && echo written'))
  for (let i = 0; i < 600; i += 20) {
    const outputs = await Promise.all(Array.from({ length: 20 }, (_, j) => said(executor, revised(i + j))))
    t.same(new Set(outputs), new Set(['open notes']))
  }
  t.match(await waits, { status: 'success', output: /open noteswritten/ })
})

t.test('a command neither sees nor ends those of other skills', { skip }, async t => {
  const executor = await open(t, 'required')
  const secret = `value-of-${process.pid}`
  const first = untrusted(['sh', '-c', 'sleep 2; echo survived'], {}, {}, 'first')
  const waits = executor.run(
    { execution_id: 'x', ...first, secrets: { TOKEN: secret }, timeout_ms: 60_000, config: {} },
    { started () {}, progress () {}, log () {} },
    new AbortController().signal
  )
  const other = shell('cat /proc/[0-9]*/environ | tr "\\0" "\\n"; kill -9 -1; for p in $(seq 2 300); do kill -9 $p; done; echo tried')
  const printed =
    await said(executor, { ...other, skill: { ...other.skill, name: 'other', directory: join(user, 'project') } })
  t.notMatch(printed, secret)
  t.match(await waits, { status: 'success', output: /survived/ })
})

t.test('all end with the process that started them, even when it is killed', { skip }, async () => {
  const name = `orphan${process.pid}`
  const program = `
    import native from ${JSON.stringify(new URL('../../plugins/executor-native/index.js', import.meta.url).href)}
    import { openPlugin } from ${JSON.stringify(new URL('../../plugins/testing/open-plugin.js', import.meta.url).href)}
    const { service } = await openPlugin(native, { config: { isolation: { mode: 'required' } } })
    const call = ${JSON.stringify(shell(`setsid sh -c "sleep 1000; : ${name}" & sleep 1000; : ${name}`))}
    void service.run({ execution_id: 'x', ...call, timeout_ms: 600000, config: {} }, { started () { console.log('started') }, progress () {}, log () {} }, new AbortController().signal)`
  for (let round = 0; round < 5; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    await once(child.stdout, 'data')
    await until(() => spawnSync('pgrep', ['-f', `: ${name}`]).status === 0)
    child.kill('SIGKILL')
    await gone([child.pid ?? 0])
    await until(() => spawnSync('pgrep', ['-f', `: ${name}`]).status !== 0)
  }
})

t.test('a working directory that is secret is not readable because it is the working directory', async t => {
  const { RuleBook } = await import('../../plugins/toolkit/sandbox/rules.ts')
  const folder = mkdtempSync(join(tmpdir(), 'skillet-secret-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  const { skill } = shell('true')
  const isNamed = (book: {
    rulesFor: (...args: [typeof skill, string, string[]]) => { paths: readonly { path: string }[] }
  }): boolean =>
    book.rulesFor(skill, folder, []).paths.some(({ path }) => path === folder)
  t.equal(isNamed(new RuleBook([])), true)
  t.equal(isNamed(new RuleBook([folder])), false)
})

t.test('where it can\'t be had, a command fails, says why, and never runs without', async t => {
  const { Confiner } = await import('../../plugins/executor-native/sandbox/confiner.ts')
  const { RuleBook } = await import('../../plugins/toolkit/sandbox/rules.ts')
  const { NativeExecutor } = await import('../../plugins/executor-native/executor.ts')
  const { silentLogger: log } = await import('../../kernel/index.ts')
  const health = { degrade () {}, recover () {}, warn () {} }
  const without = (mode: 'auto' | 'required' | 'off'): Executor => {
    const { isolation } = completeConfig({ isolation: { mode } })
    const confiner = new Confiner({
      isolation, probe: () => tryLevels(undefined), book: new RuleBook([]), helpers: undefined, log, health
    })
    const executor = new NativeExecutor({
      processes: 2, helpers: 1, compiled: undefined, confiner, directory: '/',
      outputBytesMax: 1000, liveBytesMax: 1000, answer_ms: 15_000,
      log, health
    })
    t.teardown(() => executor.close())
    return executor
  }
  const touch = shell(`touch ${join(user, 'ran')}`)
  t.match(await runCall(without('required'), touch), {
    status: 'failed',
    error: { message: /subject must run in a sandbox \(isolation\.mode = "required"\).*not built/ }
  })
  const demanding = shell(`touch ${join(user, 'ran')}`, { isolation: 'sandbox' })
  for (const mode of ['auto', 'off'] as const) {
    t.match(await runCall(without(mode), demanding), {
      status: 'failed',
      error: { message: /its permissions\.isolation/ }
    })
  }
  t.notOk(existsSync(join(user, 'ran')))
  t.match(await runCall(without('auto'), shell('echo ran')), {
    status: 'success', output: 'ran\n', started: ['process']
  })
  t.match(await runCall(without('off'), shell('echo ran')), { status: 'success', started: ['process'] })
})

t.test('skills that are trusted run as before', { skip }, async t => {
  const executor = await open(t, 'required')
  t.match(await runCall(executor, commandCall(['cat', join(user, '.ssh', 'id_rsa')])), {
    status: 'success', output: 'secret key', started: ['process']
  })
  t.ok(statSync(join(user, '.ssh')).isDirectory())
})

/** The number of the user `nobody`, which owns nothing. */
const nobody = 65_534
const asNobody = { uid: nobody, gid: nobody, env: { PATH: process.env['PATH'], TAP_TIMEOUT: '280' } }
const file = fileURLToPath(import.meta.url)
const isRoot = process.getuid?.() === 0
const canRead = (): boolean => {
  const look = `require('fs').accessSync(${JSON.stringify(file)})`
  return spawnSync(process.execPath, ['-e', look], asNobody).status === 0
}
const alone = skip !== false
  ? skip
  : !isRoot ? 'only root can be another user' : canRead() ? false : 'these files are root\'s alone'

t.test('all of this holds for an ordinary user as well', { skip: alone, timeout: 290_000 }, async t => {
  const child =
    spawn(process.execPath, ['--enable-source-maps', file], { ...asNobody, stdio: ['ignore', 'pipe', 'inherit'] })
  const output = (await child.stdout.setEncoding('utf8').toArray()).join('')
  t.equal(child.exitCode ?? (await once(child, 'close'))[0], 0, output.split('\n')
    .filter(line => /not ok/.test(line))
    .join('\n'))
  t.match(output, /it can no more in the sandbox/)
})
