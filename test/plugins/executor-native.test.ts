import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, readlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { silentLogger, type Executor, type Isolation, type JsonObject } from '../../kernel/index.ts'
import { NativeExecutor } from '../../plugins/executor-native/executor.ts'
import { compiledHelper, type HelperProgram } from '../../plugins/executor-native/helper-program.ts'
import native from '../../plugins/executor-native/index.ts'
import { testExecutor } from '../conformance/executor.ts'
import { commandCall, runCall, shellCall, usedHelper, withHelper } from '../support/native.ts'
import { openPlugin, type Opened } from '../../plugins/testing/open-plugin.ts'
import { gone, numbersIn, runs } from '../support/processes.ts'
import { until } from '../../plugins/testing/until.ts'

const hang = commandCall(['sleep', '100000'])

t.setTimeout(300_000)

testExecutor('executor-native', {
  async open (config) {
    const { service: executor, close } = await openPlugin(native, { config: withHelper(config) })
    return { executor, close }
  },
  isolation: 'process',
  calls: {
    echo: text => commandCall(['printf', '%s', '{{text}}'], { text }),
    fail: message => shellCall('printf "first line\\n%s\\n" "$1" >&2; exit 3', message),
    sleep: ms => shellCall('sleep "$1"; printf slept', `${ms / 1000}`),
    hang: () => hang,
    output: bytes => shellCall('head -c "$1" /dev/zero | tr "\\0" x', `${bytes}`),
    append: (file, text) => shellCall('printf %s "$1" >> "$2"', text, file)
  },
  concurrency: { config: { execution: { processes: 3 } }, limit: 3, hang }
})

const program = fileURLToPath(new URL('../support/native-main.js', import.meta.url))

/** An executor for one test. */
async function open (t: Test, options: JsonObject = {}): Promise<Opened<Executor>> {
  const opened = await openPlugin(native, { config: withHelper({}, options) })
  t.teardown(opened.close)
  return opened
}

t.test('arguments arrive byte for byte, one each, whatever they hold', async t => {
  t.setTimeout(120_000)
  const { service: executor } = await open(t)
  const nasty = fc.constantFrom(
    '$(id)',
    '`id`',
    '"',
    "'",
    '\\',
    '\n',
    '\r\n',
    ' ',
    '*',
    '~',
    '-',
    '--',
    '-n',
    '%s',
    '\\0',
    ';',
    '|&',
    '${HOME}',
    '!!',
    '',
    '漢',
    '🙂',
    'e\u0301',
    '\u202e'
  )
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.array(nasty, { maxLength: 6 }).map(parts => parts.join('')))
    .filter(text => !text.includes('\0'))
  await fc.assert(fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 8 }), text, async (args, part) => {
    const call = commandCall(['printf', '%s\\0', '{{...args}}', 'before {{part}} after'], { args, part })
    const outcome = await runCall(executor, call)
    t.equal(outcome.status, 'success')
    t.same(outcome.output.split('\0'), [...args, `before ${part} after`, ''])
  }), { numRuns: usedHelper === 'node' ? 50 : 300 })
})

t.test('output is UTF-8 across the borders of writes; other bytes become U+FFFD', async t => {
  const { service: executor } = await open(t)
  const split = shellCall('for byte in 360 237 231 202 342 202 254; do printf "\\\\$byte" | cat; done')
  t.match(await runCall(executor, split), { status: 'success', output: '🙂€' })
  t.match(await runCall(executor, shellCall('printf "a\\377b\\342\\202"')), {
    status: 'success',
    output: 'a\ufffdb\ufffd'
  })
})

t.test('output is told while the command runs, and is the same as at the end', async t => {
  const { service: executor } = await open(t)
  const file = join(t.testdir({}), 'go')
  let told = ''
  const observer = { started () {}, progress () {}, log () {}, output (text: string) { told += text } }
  const call = shellCall('printf "one\\n\\303"; while [ ! -e "$1" ]; do sleep 0.02; done; printf "\\274 two"', file)
  const outcome =
    executor.run({ execution_id: 'x', ...call, timeout_ms: 60_000, config: {} }, observer, new AbortController().signal)
  await until(() => told !== '')
  t.equal(told, 'one\n', 'half a character waits for its other half')
  await writeFile(file, '')
  t.match(await outcome, { status: 'success', output: 'one\nü two' })
  t.equal(told, 'one\nü two')
})

t.test('standard input is what the tool declares, or empty', async t => {
  const { service: executor } = await open(t)
  const text = 'ünï\n\0'.repeat(100_000)
  t.equal((await runCall(executor, commandCall(['cat'], { text }, { stdin: '{{text}}' }))).output, text)
  t.match(
    await runCall(executor, commandCall(['cat'])), { status: 'success', output: '' }, 'at its end from the beginning'
  )
  t.match(
    await runCall(executor, commandCall(['true'], { text }, { stdin: '{{text}}' })),
    { status: 'success' },
    'need not be read'
  )
})

t.test('a command gets the least of the environment, and what its skill declares', async t => {
  const { PATH = '' } = process.env
  const least = { PATH, LANG: 'C.UTF-8', LC_TIME: 'C', TZ: 'UTC', TMPDIR: '/tmp' }
  const server = {
    ...least, HOME: '/home/somebody', SECRET: 'x', DECLARED: 'a\nb', LD_DEBUG_OUTPUT: '/nowhere', NODE_ENV: 'test'
  }
  // The test runner hands its own variables down to every process; `env -i` drops them.
  const assignments = Object.entries(server).map(([name, value]) => `${name}=${value}`)
  const main = spawn('env', ['-i', ...assignments, process.execPath, program, 'environment'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const [plain = '', declared = '', descriptors = ''] = (await main.stdout.setEncoding('utf8').toArray()).join('')
    .split('\n\0')
  const parse = (text: string): JsonObject =>
    Object.fromEntries(text.split('\0').filter(entry => entry !== '').map(entry => [
      entry.slice(0, entry.indexOf('=')),
      entry.slice(entry.indexOf('=') + 1)
    ]))
  t.same(parse(plain), least)
  t.same(parse(declared), { ...least, DECLARED: 'a\nb', HOME: '/home/somebody' })
  // Higher ones, that whoever started the tests left open, are everybody's.
  const low = descriptors.split('\n').filter(descriptor => descriptor !== '' && Number(descriptor) < 16).toSorted()
  if (process.platform === 'linux') t.same(low, ['0', '1', '2'], 'nor does it inherit descriptors')
})

t.test('a tool\'s own variables stand above the server\'s, and hold values as they are', async t => {
  const { service: executor } = await open(t)
  const call = commandCall(
    ['sh', '-c', 'printf %s "$LANG|$VALUE"'],
    { value: '$(id) "x"' },
    { variables: { LANG: 'own', VALUE: '<{{value}}>' } }
  )
  t.match(await runCall(executor, call), { status: 'success', output: 'own|<$(id) "x">' })
})

t.test('the working directory is the server\'s, or the tool\'s; a program with a slash is found from the skill\'s folder', async t => {
  const { service: executor } = await open(t)
  const folder = t.testdir({ 'where.sh': '#!/bin/sh\npwd -P\n' })
  await chmod(`${folder}/where.sh`, 0o755)
  const where = async (cwd?: string): Promise<string> =>
    (
      await runCall(executor, commandCall(['./where.sh'], {}, { directory: folder, ...(cwd !== undefined && { cwd }) }))
    ).output
  t.equal(await where(), `${process.cwd()}\n`)
  t.equal(await where('/'), '/\n')
})

t.test('a name is the first program of it in PATH that can be run', async t => {
  const { service: executor } = await open(t)
  const root = t.testdir({
    folder: { greet: {} }, text: { greet: 'no program' }, here: { greet: '#!/bin/sh\necho here as ${0##*/}\n' },
    later: { greet: '#!/bin/sh\necho later\n' }
  })
  for (const place of ['here', 'later']) await chmod(join(root, place, 'greet'), 0o755)
  const greet = async (cwd: string, ...places: string[]): Promise<string> => {
    const outcome = await runCall(
      executor,
      commandCall(['greet'], {}, { cwd, variables: { PATH: [...places, '/usr/bin', '/bin'].join(':') } })
    )
    return outcome.status === 'failed' ? outcome.error.message : outcome.output
  }
  const [missing, folder, text, here, later] = ['missing', 'folder', 'text', 'here', 'later']
    .map(name => join(root, name)) as [string, string, string, string, string]
  t.equal(await greet('/', missing, folder, text, here, later), 'here as greet\n')
  t.equal(await greet('/', '', 'here', later), 'later\n')
  t.equal(await greet(here, '', later), 'here as greet\n', 'an empty place is the working directory of the command')
  t.equal(await greet(root, 'here', later), 'here as greet\n', 'a relative one is a place below it')
  t.match(await greet('/', missing, folder, text), /can't be executed|not executable|may not be executed/i)
  t.match(await greet('/', missing), /greet/)
  t.equal(await greet('/', here, later), 'here as greet\n')
  await unlink(join(here, 'greet'))
  t.equal(await greet('/', here, later), 'later\n', 'one that is removed is not missed')
})

t.test('a command begins with no signal blocked or ignored', { skip: process.platform !== 'linux' }, async t => {
  const { service: executor } = await open(t)
  const { output } = await runCall(executor, commandCall(['grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status']))
  t.match(output, /^SigBlk:\s0+\nSigIgn:\s0+\n$/)
})

t.test('failures say what happened', async t => {
  const { service: executor } = await open(t)
  const folder = t.testdir({ plain: 'text', script: '#!/nowhere/interpreter\n' })
  await chmod(`${folder}/script`, 0o755)
  const failure = async (
    call: Parameters<typeof runCall>[1]
  ): Promise<{ message: string, details: JsonObject, started: number }> => {
    const outcome = await runCall(executor, call)
    if (outcome.status !== 'failed') throw new Error(`it ended as ${outcome.status}`)
    return { ...outcome.error, started: outcome.started.length }
  }
  t.match(
    await failure(commandCall(['no-such-command-anywhere', 'x'])),
    { message: /"no-such-command-anywhere" was not found/, details: { exit_code: 127 }, started: 0 }
  )
  t.match(await failure(commandCall(['/nowhere/at/all'])), {
    message: /"\/nowhere\/at\/all" was not found/,
    details: { exit_code: 127 }
  })
  t.match(await failure(commandCall([`${folder}/script`])), {
    message: /interpreter of ".*script"/,
    details: { exit_code: 127 }
  })
  t.match(await failure(commandCall([folder])), {
    message: /can't be executed \(EACCES\)/,
    details: { exit_code: 126 }
  })
  t.match(await failure(commandCall([`${folder}/plain`])), {
    message: /can't be executed \(EACCES\)/,
    details: { exit_code: 126 }
  })
  t.match(await failure(commandCall(['true'], {}, { cwd: '/nowhere' })), {
    message: /working directory "\/nowhere" is missing/,
    details: { cwd: '/nowhere' }
  })
  t.match(await failure(commandCall(['true'], {}, { cwd: `${folder}/plain` })), {
    message: /working directory ".*plain"/
  })
  t.match(
    await failure(shellCall('printf kept; kill -KILL $$')),
    { message: 'subject:tool was ended by SIGKILL', details: { exit_code: 137, signal: 'SIGKILL' }, started: 1 }
  )
  t.same(await failure(shellCall('echo first >&2; printf "\\033[31mlast\\r\\n\\n" >&2; exit 128')), {
    message: 'subject:tool exited with code 128: [31mlast',
    details: { exit_code: 128, stderr: 'first\n\u001b[31mlast\r\n\n' }, started: 1
  })
  const { message, details } = await failure(shellCall('for i in $(seq 2000); do echo "€ $i" >&2; done; exit 1'))
  t.equal(message, 'subject:tool exited with code 1: € 2000')
  const stderr = String(details['stderr'])
  t.ok(
    Buffer.byteLength(stderr) <= 4096 && Buffer.byteLength(stderr) > 4090 && stderr.endsWith('€ 2000\n')
    && !stderr.includes('\ufffd'),
    'the last 4 KiB of standard error, from a whole character on'
  )
})

t.test('parameters that can\'t be run are refused before there is a run', async t => {
  const { service: executor } = await open(t)
  const { tool } = commandCall(['printf', '{{text}}'], { text: 'x' })
  t.throws(
    () => executor.check?.(tool, { text: 'a\0b' }),
    { code: 'INVALID_PARAMETERS', message: /parameters\/text .*NUL/ }
  )
  t.doesNotThrow(() => executor.check?.(tool, { text: 'fine' }))
})

/** An executor with a compiled helper, where one is given. */
function make (t: Test, compiled: HelperProgram | undefined): NativeExecutor {
  const executor = new NativeExecutor({
    processes: 2, helpers: 1, compiled, directory: '/',
    outputBytesMax: 1024, liveBytesMax: 1024, answer_ms: 4000, log: silentLogger,
    health: { degrade () {}, recover () {}, warn () {} }
  })
  t.teardown(() => executor.close())
  return executor
}

/**
 * A script that writes the ids of the helper, itself and a grandchild to $1; both ignore SIGTERM and hold the output
 * open.
 */
const stubborn = 'trap "" TERM; sh -c \'trap "" TERM; sleep 100000; :\' & echo "$PPID $$ $!" > "$1"; printf "so far"; '

t.test('a timeout ends the whole group, whatever it ignores, and keeps the output so far', async t => {
  const { service: executor } = await open(t)
  const file = `${t.testdir()}/pids`
  const outcome = await runCall(executor, shellCall(`${stubborn} wait`, file), 1500)
  t.match(outcome, { status: 'timeout', output: 'so far', output_truncated: false })
  const [, ...pids] = await numbersIn(file, 3)
  await gone(pids)
})

t.test('cancelling ends the whole group, and keeps the output so far', async t => {
  const { service: executor } = await open(t)
  const file = `${t.testdir()}/pids`
  const abort = new AbortController()
  const outcome = runCall(executor, shellCall(`${stubborn} echo >> "$1"; wait`, file), 60_000, abort)
  await until(async () => (await readFile(file, 'utf8').catch(() => '')).endsWith('\n\n'))
  abort.abort()
  t.match(await outcome, { status: 'cancelled', output: 'so far' })
  const [, ...pids] = await numbersIn(file, 3)
  await gone(pids)
})

t.test('a tool that heeds SIGTERM may tidy up', async t => {
  const { service: executor } = await open(t)
  const outcome = await runCall(
    executor, shellCall('trap "printf tidy; exit" TERM; printf "begun "; while :; do sleep 0.01; done'), 500
  )
  t.match(outcome, { status: 'timeout', output: 'begun tidy' })
})

t.test('a command that exits is done, although what it left behind holds its output open; that is ended too', async t => {
  const { service: executor } = await open(t)
  const file = `${t.testdir()}/pids`
  t.match(await runCall(executor, shellCall(stubborn, file)), { status: 'success', output: 'so far' })
  const [, ...pids] = await numbersIn(file, 3)
  await gone(pids)
  // With nothing held open, too.
  t.match(await runCall(executor, shellCall('sleep 100000 > /dev/null 2>&1 & echo $! > "$1"', file)), {
    status: 'success'
  })
  await gone(await numbersIn(file, 1))
})

t.test('a helper that dies takes its runs with it, and no others', async t => {
  const { service: executor, degraded } = await open(t)
  const file = `${t.testdir()}/pids`
  const started: Isolation[] = []
  const lost = runCall(executor, shellCall(`${stubborn} wait`, file), 60_000, new AbortController(), started)
  const [helper = 0, ...pids] = await numbersIn(file, 3)
  // On a busy machine the command may be this far before the helper has told its id.
  await until(() => started.length === 1)
  process.kill(helper, 'SIGKILL')
  const outcome = await lost
  t.equal(outcome.status, 'failed')
  if (outcome.status === 'failed') {
    t.equal(outcome.error.message, 'subject:tool was ended: the helper process that ran it died (SIGKILL)')
  }
  await gone([helper, ...pids])
  await until(() => degraded() !== undefined)
  t.match(degraded(), /helper process died: SIGKILL/)
  const next = await runCall(executor, shellCall('echo $PPID'))
  t.equal(next.status, 'success')
  t.not(Number(next.output), helper)
  t.equal(degraded(), undefined, 'well again')
})

t.test('a helper that dies while it starts commands takes those with it, too', {
  skip: usedHelper === 'node'
}, async t => {
  const { service: executor } = await open(t, { helpers: 1 })
  const file = `${t.testdir()}/pids`
  for (let round = 1; round <= 10; round++) {
    const helper = (await runCall(executor, shellCall('echo $PPID'))).output.trim()
    const deadly = shellCall('echo $$ >> "$1"; [ $PPID = "$2" ] && kill -9 "$2"; exec sleep 100000', file, helper)
    for (const outcome of await Promise.all(Array.from({ length: 4 }, () => runCall(executor, deadly)))) {
      t.match(outcome, { status: 'failed', error: { message: /helper process/ } })
    }
    await gone(await numbersIn(file, round))
  }
})

t.test('a helper that does not answer is ended, and replaced', async t => {
  const executor = make(t, usedHelper === 'node' ? undefined : compiledHelper())
  const helper = Number((await runCall(executor, shellCall('echo $PPID'))).output)
  process.kill(helper, 'SIGSTOP')
  const probed = t.rejects(executor.probe(), /helper process died/)
  t.match(await runCall(executor, shellCall('echo never')), {
    status: 'failed', started: [], error: { message: /helper process/ }
  })
  await probed
  await gone([helper])
  await executor.probe()
  t.match(await runCall(executor, shellCall('echo well')), { status: 'success', output: 'well\n' })
})

t.test('the helper under test is the one that runs', { skip: process.platform !== 'linux' }, async t => {
  const { service: executor } = await open(t)
  const { output } = await runCall(executor, shellCall('readlink /proc/$PPID/exe'))
  t.equal(output.trim(), usedHelper === 'node'
    ? await readlink('/proc/self/exe')
    : compiledHelper()?.file ?? await readlink('/proc/self/exe'))
})

t.test('where the compiled helper does not run, the one in Node takes its place', {
  skip: usedHelper === 'node'
}, async t => {
  for (const unfit of [
    { file: '/nowhere/helper', args: [], env: {} },
    { file: process.execPath, args: ['-e', 'process.exit(3)'], env: {} }
  ]) {
    t.match(await runCall(make(t, unfit), shellCall('echo well')), { status: 'success', output: 'well\n' })
  }
})

t.test('a file that is no program is a shell\'s script', async t => {
  const { service: executor } = await open(t)
  const folder = t.testdir({ bare: 'printf "%s|" "$0" "$@"\n' })
  await chmod(`${folder}/bare`, 0o755)
  t.match(await runCall(executor, commandCall([`${folder}/bare`, 'a b', ''])), {
    status: 'success',
    output: `${folder}/bare|a b||`
  })
})

t.test('several helpers share the runs', async t => {
  const { service: executor } = await open(t, { helpers: 2 })
  const folder = t.testdir()
  const meet = (i: number): ReturnType<typeof runCall> => runCall(
    executor,
    shellCall('touch "$1/$2"; until [ -e "$1/0" ] && [ -e "$1/1" ]; do sleep 0.01; done; echo $PPID', folder, `${i}`)
  )
  const [one, other] = await Promise.all([meet(0), meet(1)])
  t.match([one, other], [{ status: 'success' }, { status: 'success' }])
  t.not(one.output, other.output)
})

t.test('closing ends what runs, and the helper', async t => {
  const { service: executor, close } = await open(t)
  const file = `${t.testdir()}/pids`
  const active = runCall(executor, shellCall(`${stubborn} wait`, file))
  const pids = await numbersIn(file, 3)
  await close()
  t.equal((await active).status, 'cancelled')
  for (const pid of pids) t.notOk(await runs(pid))
})

t.test('when the server is killed, the helper ends all that it started, and itself', async t => {
  const file = `${t.testdir()}/pids`
  const main = spawn(process.execPath, [program, 'hang', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(main, 'exit')
  const pids = await numbersIn(file, 3)
  for (const pid of pids) t.ok(await runs(pid))
  main.kill('SIGKILL')
  await ended
  await gone(pids)
})

t.test('an idle helper does not keep its server alive', async t => {
  const main = spawn(process.execPath, [program, 'once'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = main.stdout.setEncoding('utf8').toArray()
  const [code] = await once(main, 'exit')
  t.equal(code, 0)
  t.equal((await output).join(''), 'done')
})

t.test('a signal to the whole terminal is the server\'s to answer', async t => {
  const { service: executor } = await open(t)
  const helper = Number((await runCall(executor, shellCall('echo $PPID'))).output)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(helper, signal)
  t.equal(Number((await runCall(executor, shellCall('echo $PPID'))).output), helper)
})
