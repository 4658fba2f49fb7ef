import { setTimeout } from 'node:timers/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { completeConfig } from '../../kernel/boot/config-load.ts'
import { silentLogger, type Confinement, type JsonObject } from '../../kernel/index.ts'
import { NativeExecutor } from '../../plugins/executor-native/executor.ts'
import { confinedHelper } from '../../plugins/executor-native/helper-program.ts'
import native from '../../plugins/executor-native/index.ts'
import { Confiner } from '../../plugins/executor-native/sandbox/confiner.ts'
import { examineSandbox } from '../../plugins/executor-native/sandbox/examine.ts'
import { tryLevels } from '../../plugins/executor-native/sandbox/try-levels.ts'
import { limitsOf } from '../../plugins/toolkit/sandbox/limits.ts'
import type { Lacking } from '../../plugins/toolkit/sandbox/levels.ts'
import { RuleBook } from '../../plugins/toolkit/sandbox/rules.ts'
import { until } from '../../plugins/testing/until.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { testExecutor, type Call } from '../conformance/executor.ts'
import {
  makeUser, openAt, runAsNobody, said, untrusted, whyNotAsNobody, type Permissions
} from '../support/confined.ts'
import { commandCall, runCall } from '../support/native.ts'

const { strict: missing } = await tryLevels(confinedHelper())
const skip = missing === undefined ? false : `no strict isolation here: ${missing}`
t.setTimeout(300_000)

const user = makeUser(t, {
  'notes.txt': 'open notes', 'project/main.c': 'int main;', 'project/.ssh/key': 'x', '.ssh/id_rsa': 'secret key',
  'skill/data.txt': 'of the skill'
})
const shell = (script: string, permissions: Permissions = {}): Call => untrusted(user, script, permissions)
const mebibyte = 1_048_576
/** For commands that run this Node, which may be where only what is named can be read. */
const withNode = { read: [dirname(process.execPath), process.cwd()] }

if (missing === undefined) testExecutor('executor-native at the level strict', {
  async open (config) {
    const isolation = { mode: 'required', level: 'strict' }
    const { service: executor, close } = await openPlugin(native, { config: { ...config, isolation } })
    return { executor, close }
  },
  isolation: 'strict',
  calls: {
    echo: text => given(['printf', '%s', '{{text}}'], { text }),
    fail: message =>
      given(['sh', '-c', 'printf "first line\\n%s\\n" "$1" >&2; exit 3', 'sh', '{{message}}'], { message }),
    sleep: ms => shell(`sleep ${ms / 1000}; printf slept`),
    hang: () => given(['sleep', '100000']),
    output: bytes => shell(`head -c ${bytes} /dev/zero | tr "\\0" x`),
    append: (file, text) => given(
      ['sh', '-c', 'printf %s "$1" >> "$2"', 'sh', '{{text}}', '{{file}}'], { text, file }, { write: ['{{file}}'] }
    )
  },
  concurrency: { config: { execution: { processes: 3 } }, limit: 3, hang: given(['sleep', '100000']) }
})

/** A call of a command by a skill that is not trusted. */
function given (command: string[], parameters: JsonObject = {}, permissions: Permissions = {}): Call {
  const call = commandCall(command, parameters, { directory: `${user}/skill` })
  return {
    ...call, skill: { ...call.skill, trusted: false, permissions: { ...call.skill.permissions, ...permissions } }
  }
}

/** The command of another run, as no other process of this machine has it. */
const other = `sleep 87.${process.pid}`
/** What a command of a skill can do to its own user, and to another command of the same skill that runs meanwhile. */
const attacks = [
  { name: 'reads a file of the home directory', script: 'cat ~/notes.txt', succeeds: /open notes/ },
  { name: 'sees that a file is there', script: 'stat ~/notes.txt', succeeds: /notes.txt[^]*Size/ },
  {
    name: 'reads a temporary file of another command', script: 'cat $(dirname $TMPDIR)/*/other /tmp/other-$USER',
    succeeds: /of the other/
  },
  {
    name: 'reads the shared memory of another command', script: 'cat /dev/shm/other', succeeds: /of the other/
  },
  {
    name: 'sees another command', script: 'cat /proc/[0-9]*/cmdline | tr "\\0" " "', succeeds: new RegExp(other)
  },
  {
    name: 'reads the variables of another command', script: 'cat /proc/[0-9]*/environ | tr "\\0" "\\n"',
    succeeds: /OTHER=of the other/
  },
  {
    name: 'ends another command', succeeds: /ended one/,
    script: `for p in /proc/[0-9]*; do if [ "$(tr '\\0' ' ' < $p/cmdline)" = '${other} ' ]; then kill -9 \${p#/proc/} && echo ended one; fi; done; echo`
  }
]

t.test('what a command can do to the home directory and to other commands of its skill, it can no more at this level', { skip }, async t => {
  for (const level of ['process', 'sandbox', 'strict'] as const) {
    const executor = await openAt(t, level, { plugin: { 'executor-native': { helpers: 1 } } })
    for (const { name, script, succeeds } of attacks) {
      const place = level === 'process' ? '/tmp/other-$USER' : '$TMPDIR/other'
      const abort = new AbortController()
      const meanwhile = runCall(executor, shell(
        `export OTHER='of the other'; echo $OTHER > ${place}; echo $OTHER > /dev/shm/other; ${other}`
      ), 60_000, abort)
      if (level === 'strict') {
        await setTimeout(500) // nothing tells from outside that the other command is there
        t.notMatch(await said(executor, shell(script)), succeeds, `at the level strict, none ${name}`)
      } else {
        await until(async () => succeeds.test(await said(executor, shell(script))))
        t.pass(`at the level ${level}, a command ${name}`)
      }
      abort.abort()
      await meanwhile
    }
    await said(executor, shell('rm -f /tmp/other-$USER /dev/shm/other; true'))
  }
})

t.test('what a command may do at this level', { skip }, async t => {
  const executor = await openAt(t, 'strict')
  t.match(await said(executor, shell('cat ~/skill/data.txt data.txt')), /of the skillof the skill/)
  const write = 'echo x > $TMPDIR/a && cat $TMPDIR/a; echo y > /dev/shm/b && cat /dev/shm/b; echo z > /dev/null'
  t.match(await said(executor, shell(write)), /x\ny/)
  t.match(await said(executor, shell('cp /bin/echo $TMPDIR/own && $TMPDIR/own runs')), /runs/)
  const listed = await said(executor, shell('ls -A $TMPDIR /dev/shm; echo it is $$'))
  t.match(listed, /^\/dev\/shm:\n\n\/tmp\/skill-\d+\/\d+:\nit is 2\n$/)
  const look = given(
    [process.execPath, '-e', 'console.log(require("os").cpus().length > 0, process.getuid())'], {}, withNode
  )
  t.match(await said(executor, look), new RegExp(`true ${process.getuid?.()}`))
  t.match(await said(executor, shell('grep Cap /proc/self/status')), /CapEff:\s+0+\n[^]*CapBnd:\s+0+\n/)
  for (const command of [
    'unshare -r true', 'mount -t tmpfs none /mnt', 'umount /dev/shm', 'kill -9 1', 'echo 1 > /proc/sys/kernel/pid_max',
    'ls /.machine', 'cat /.machine/home/notes.txt', 'chmod 777 /tmp', 'chmod 777 /', 'chmod 777 ~',
    'readlink /proc/1/fd/3',
    'cat /proc/1/environ', 'chroot / true', 'echo x > /new', 'echo x > /tmp/new', 'cat /sys/kernel/notes'
  ]) {
    t.match(
      await runCall(executor, shell(command)), { status: 'failed', error: { details: { exit_code: /[1-9]/ } } }, command
    )
  }
})

t.test('of the home directory, it sees what its permissions name', { skip }, async t => {
  const executor = await openAt(t, 'strict')
  const reading = { read: [`${user}/project`] }
  t.match(await said(executor, shell('cat ~/project/main.c', reading)), /int main/)
  t.match(await said(executor, shell('cat ~/notes.txt', reading)), /No such file/)
  t.match(await said(executor, shell('echo x > ~/project/main.c', reading)), /Read-only|denied/)
  const writing = { write: [`${user}/project`] }
  const write = 'echo y > ~/project/new && chmod 600 ~/project/new && cat ~/project/new'
  t.match(await said(executor, shell(write, writing)), /y/)
  t.match(await said(executor, shell('cat ~/notes.txt ~/.ssh/id_rsa; ls ~/.ssh', writing)), /No such file/)
  t.match(await said(executor, shell('cat ~/.ssh/id_rsa', { read: [user] })), /denied|No such file/)
})

for (const level of ['sandbox', 'strict'] as const) {
  t.test(`a command has limits at the level ${level}`, { skip }, async t => {
    const executor = await openAt(t, level)
    const fill = (mib: number): string =>
      `${process.execPath} -e 'const kept = Buffer.alloc(${mib} * 1048576, 1); setTimeout(() => console.log("kept", kept.length), 1500)'`
    const limited = { memory_bytes_max: 256 * mebibyte, ...withNode }
    const message = /subject:tool used more than 256 MiB of memory and was ended/
    const tooMuch = { status: 'failed', error: { message } }
    t.match(await runCall(await openAt(t, 'process'), shell(fill(300), limited)), { status: 'success' })
    t.match(await runCall(executor, shell(fill(300), limited)), tooMuch)
    const away = `setsid sh -c "${fill(300).replaceAll('"', '\\"')}" & sleep 60`
    t.match(await runCall(executor, shell(away, limited)), tooMuch, 'also in a session of its own')
    const several = Array.from({ length: 3 }, () => `${fill(90)} &`).join(' ')
    t.match(await runCall(executor, shell(`${several} wait`, limited)), tooMuch, 'also by several processes')
    t.match(await runCall(executor, shell(fill(90), limited)), { status: 'success', output: /kept/ })
    t.match(await runCall(executor, shell('for i in $(seq 60); do sleep 60 & done; wait', { processes_max: 20 })), {
      status: 'failed', error: { message: /had more than 20 processes and threads/ }
    })
    t.match(await runCall(executor, shell('for i in $(seq 10); do sleep 0.5 & done; wait', { processes_max: 20 })), {
      status: 'success'
    })
  })

  t.test(`a command has a limit of processor time at the level ${level}`, { skip }, async t => {
    const executor = await openAt(t, level)
    const spin = 'while :; do :; done'
    const limited = { cpu_ms_max: 500 }
    const tooMuch = { status: 'failed', error: { message: /subject:tool used more than 500 ms of processor time/ } }
    t.match(await runCall(executor, shell(spin, limited)), tooMuch)
    t.match(await runCall(executor, shell(`setsid sh -c '${spin}' & sleep 60`, limited)), tooMuch, 'in another session')
    t.match(await runCall(executor, shell(`(${spin}) & (${spin}) & wait`, limited)), tooMuch, 'in several processes')
    const short = 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'
    t.match(
      await runCall(executor, shell(`while :; do sh -c '${short}'; done`, limited)), tooMuch, 'in one after the other'
    )
    t.match(
      await runCall(executor, shell(`while :; do (sh -c '${short}' &) ; sleep 0.02; done`, { cpu_ms_max: 200 })),
      { status: 'failed', error: { message: /used more than 200 ms/ } }, 'in processes that lose their parents'
    )
    t.match(await runCall(executor, shell('sleep 1', limited)), { status: 'success' })
  })
}

t.test('the smaller limit of user and skill counts', async t => {
  const given = { memory_bytes_max: 1000 * mebibyte, processes_max: 0, cpu_ms_max: 900 }
  const { isolation } = completeConfig({ isolation: given })
  const { permissions } = shell('true').skill
  t.same(limitsOf(permissions, isolation), {
    memory_bytes_max: 1000 * mebibyte, processes_max: 0, cpu_ms_max: 900
  })
  t.same(limitsOf({ ...permissions, memory_bytes_max: 2000 * mebibyte, processes_max: 7, cpu_ms_max: 70 }, isolation), {
    memory_bytes_max: 1000 * mebibyte, processes_max: 7, cpu_ms_max: 70
  })
})

t.test('which level a skill gets, where this machine has only some of them', async t => {
  const lacks = (level: Confinement): Lacking =>
    ({ sandbox: level === 'sandbox' ? 'namespaces' : undefined, strict: 'namespaces' })
  const levelOf = async (
    config: JsonObject, lacking: Lacking, own?: Confinement
  ): Promise<{ level: Confinement | undefined | string, warnings: string[] }> => {
    const { isolation } = completeConfig({ isolation: config })
    const warnings: string[] = []
    const confiner = new Confiner({
      isolation, book: new RuleBook([]), helpers: undefined, log: silentLogger,
      health: { warn: text => { warnings.push(text) } }, probe: async () => lacking
    })
    const { skill } = shell('true', own === undefined ? {} : { isolation: own })
    try {
      const level = await confiner.levelOf(skill)
      await confiner.levelOf(skill)
      return { level, warnings }
    } catch (error) {
      return { level: String(error), warnings }
    }
  }
  const all: Lacking = { sandbox: undefined, strict: undefined }
  const auto = { mode: 'auto' }
  t.match(await levelOf(auto, all), { level: 'sandbox', warnings: [] })
  t.match(await levelOf({ ...auto, level: 'strict' }, all), { level: 'strict', warnings: [] })
  t.match(await levelOf(auto, all, 'strict'), { level: 'strict' })
  t.match(await levelOf({ mode: 'required', level: 'strict' }, all, 'sandbox'), { level: 'strict' })
  t.match(await levelOf({ mode: 'off', level: 'strict' }, all), { level: undefined })
  t.match(await levelOf(auto, lacks('strict')), { level: 'sandbox', warnings: [] })
  t.match(await levelOf({ ...auto, level: 'strict' }, lacks('strict')), {
    level: 'sandbox', warnings: [/run at the level "sandbox": this machine lacks the level "strict" \(namespaces\): tools can read the home/]
  })
  t.match(await levelOf({ ...auto, level: 'strict' }, lacks('sandbox')), {
    level: undefined, warnings: [/run without a sandbox: .*your user can/]
  })
  t.match(await levelOf({ ...auto, level: 'strict' }, lacks('strict'), 'sandbox'), { level: 'sandbox' })
  t.match(await levelOf({ mode: 'required', level: 'strict' }, lacks('strict')), {
    level: /must run at the isolation level "strict" \(isolation\.mode = "required", isolation\.level = "strict"\).*namespaces/,
    warnings: [/do not run/]
  })
  t.match(await levelOf({ mode: 'off' }, lacks('strict'), 'strict'), { level: /its permissions\.isolation = "strict"/ })
})

t.test('a skill that demands this level never runs below it', async t => {
  const { isolation } = completeConfig({})
  const health = { degrade () {}, recover () {}, warn () {} }
  const confiner = new Confiner({
    isolation, probe: () => tryLevels(undefined), book: new RuleBook([]), helpers: undefined, log: silentLogger, health
  })
  const executor = new NativeExecutor({
    processes: 2, helpers: 1, compiled: undefined, confiner, directory: '/',
    outputBytesMax: 1000, liveBytesMax: 1000, answer_ms: 15_000,
    log: silentLogger, health
  })
  t.teardown(() => executor.close())
  t.match(await runCall(executor, shell('echo ran', { isolation: 'strict' })), {
    status: 'failed', output: '', started: [], error: { message: /must run at the isolation level "strict".*not built/ }
  })
})

t.test('doctor names each level, what is missing for it, and what falls', async t => {
  const look = async (config: JsonObject, lacking: Lacking) =>
    await examineSandbox(completeConfig({ isolation: config }).isolation, async () => lacking)
  const none: Lacking = { sandbox: 'namespaces: EPERM', strict: 'namespaces: EPERM' }
  const some: Lacking = { sandbox: undefined, strict: 'a /proc of its own: EPERM' }
  t.match(await look({ mode: 'auto', level: 'strict' }, some), [
    { level: 'ok', about: 'sandbox' },
    { level: 'note', about: 'strict', text: /EPERM; tools can read the home directory/, remedy: /systempaths/ }
  ])
  t.match(await look({ mode: 'required', level: 'strict' }, some), [{}, { level: 'problem', text: /do not run/ }])
  t.match(await look({ mode: 'auto' }, none), [
    { level: 'note', about: 'sandbox', text: /what your user can/, remedy: /user namespaces/ }, { level: 'note' }
  ])
})

const file = fileURLToPath(import.meta.url)
const alone = skip === false ? whyNotAsNobody(file) : skip
t.test('all of this holds for an ordinary user as well', { skip: alone, timeout: 290_000 }, async t => {
  const { code, failed, output } = await runAsNobody(file)
  t.equal(code, 0, failed)
  t.match(output, /it can no more at this level/)
})
