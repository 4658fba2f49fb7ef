import { fileURLToPath } from 'node:url'
import t from 'tap'
import { tryScriptLevels } from '../../plugins/executor-worker/confined/probe.ts'
import { confinedProgram } from '../../plugins/toolkit/sandbox/confined-program.ts'
import type { Call } from '../conformance/executor.ts'
import { isRunning, makeUser, runAsNobody, whyNotAsNobody } from '../support/confined.ts'
import { openScripts, scriptCall, type Permissions } from '../support/confined-scripts.ts'

// The level `strict` of scripts, and their limits at both levels.

const lacking = await tryScriptLevels(confinedProgram())
const skip = lacking.strict === undefined ? false : `not here: ${lacking.strict}`
t.setTimeout(280_000)
const mebibyte = 1_048_576
/** How many processes it sees: an ordinary user does not see the first of its namespace. */
const onlyOwn = /^[12]$/
const user = makeUser(t, {
  'notes.txt': 'notes', '.ssh/id_rsa': 'secret key', 'project/main.c': 'int main', 'skill/own.txt': 'own'
})

const attack = (kind: string, parameters: object = {}, permissions: Permissions = {}): Call =>
  scriptCall('escapes', 'attack', { kind, ...parameters }, permissions, { directory: `${user}/skill`, name: 'subject' })
const read = (path: string, permissions: Permissions = {}): Call =>
  attack('read', { path: `${user}/${path}` }, permissions)

t.test('of the home directory, a script sees its own folder and what is named', { skip }, async t => {
  const sandbox = await openScripts(t, { mode: 'required' })
  t.match(await sandbox.run(read('notes.txt')), { status: 'success', output: 'notes', isolation: 'sandbox' })
  t.match(await sandbox.run(attack('list', { path: '/sys/class' })), { status: 'success' })
  const { run } = await openScripts(t, { mode: 'required', level: 'strict' })
  const missing = { status: 'failed', error: { message: /ENOENT/ }, isolation: 'strict' }
  t.match(await run(read('notes.txt')), missing)
  t.match(await run(read('.ssh/id_rsa')), missing)
  t.match(await run(attack('list', { path: '/sys/class' })), missing)
  t.match(await run(read('skill/own.txt')), { output: 'own' })
  const reading = { read: [`${user}/project`] }
  t.match(await run(read('project/main.c', reading)), { output: 'int main' })
  t.match(await run(read('notes.txt', reading)), missing)
})

t.test('a skill that demands the level has it, whatever the settings say', { skip }, async t => {
  const { run } = await openScripts(t, { mode: 'off' })
  t.match(await run(attack('pids')), { isolation: 'thread' })
  t.match(await run(attack('pids', {}, { isolation: 'strict' })), { isolation: 'strict', output: onlyOwn })
  t.match(await run(attack('pids', {}, { isolation: 'sandbox' })), { isolation: 'sandbox' })
})

for (const level of ['sandbox', 'strict']) {
  t.test(`processes of one skill do not see each other at the level ${level}`, { skip }, async t => {
    const { run } = await openScripts(t, { mode: 'required', level })
    for (const folder of ['/dev/shm', '/tmp/skill-1/1']) {
      // On a busy machine, the first process may be free again before the others began.
      for (let isSeen = false; !isSeen;) {
        let isKeeping = true
        const keeping = run(attack('keep', { path: `${folder}/kept` })).finally(() => { isKeeping = false })
        await run(attack('pids')) // has another process by now
        const { output } = await run(attack('list', { path: folder }))
        isSeen = isKeeping
        if (isSeen) t.notMatch(output, /kept/, folder)
        t.match(await run(attack('pids')), { output: onlyOwn }, 'itself, and the first process')
        t.equal((await keeping).output, 'of one process')
      }
    }
  })

  t.test(`a script has limits at the level ${level}`, { skip }, async t => {
    const { run } = await openScripts(t, { mode: 'required', level })
    const failed = (message: RegExp): object => ({ status: 'failed', error: { message } })
    const tooMany = failed(/more than 40 processes and threads/)
    t.match(await run(attack('many', { count: 60 }, { processes_max: 40 })), tooMany)
    t.match(await run(attack('many', { count: 10 }, { processes_max: 40 })), { output: 'many' })
    t.match(await run(attack('spin', {}, { cpu_ms_max: 300 })), failed(/more than 300 ms of processor time/))
    t.match(await run(attack('spinAway', {}, { cpu_ms_max: 300 })), failed(/more than 300 ms/), 'in another session')
    const memory = { memory_bytes_max: 200 * mebibyte }
    t.match(await run(attack('buffer', {}, memory)), failed(/more than 200 MiB of memory|ran out of memory/))
    t.match(await run(attack('threadChild')), failed(/MiB of memory|ran out of memory/), 'by a child of another thread')
    t.match(await run(attack('threadChild', {}, memory)), failed(/more than 200 MiB of memory|ran out of memory/))
    const echo = scriptCall('escapes', 'echo', { text: 'well' }, { cpu_ms_max: 300 }, { directory: `${user}/skill` })
    for (let i = 0; i < 3; i++) {
      const sleep = scriptCall('escapes', 'sleep', { ms: 400 }, { cpu_ms_max: 300 }, { directory: `${user}/skill` })
      t.match(await run(sleep), { output: 'slept' }, 'waiting costs nothing')
    }
    t.match(await run(echo), { output: 'well' })
  })

  t.test(`what a script leaves behind has ended when the next run begins, at the level ${level}`, { skip }, async t => {
    const { run } = await openScripts(t, { mode: 'required', level })
    const mark = `stray-${process.pid}-${level}`
    for (let round = 0; round < 5; round++) {
      t.match(await run(attack('daemon', { mark })), { output: 'left' })
      await run(attack('pids'))
      t.notOk(isRunning(mark), `round ${round + 1}`)
    }
  })
}

const file = fileURLToPath(import.meta.url)
const alone = skip === false ? whyNotAsNobody(file) : skip
t.test('all of this holds for an ordinary user as well', { skip: alone, timeout: 270_000 }, async t => {
  const { code, failed, output } = await runAsNobody(file)
  t.equal(code, 0, failed)
  t.match(output, /has ended when the next run begins/)
})
