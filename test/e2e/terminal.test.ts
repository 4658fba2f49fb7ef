import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { launch, launcher, makeHome, skillet } from '../support/program.ts'

/** What tools print and what skills say of themselves must not steer the terminal of the person who looks at it. */

const home = await makeHome()
t.teardown(home.remove)
// Colours, a title, the clipboard, a link, the C1 form of a sequence, going back, turning the direction round, and
// bells.
const hostile = '\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u001b]52;c;aGk=\u0007 \u001b]8;;http://x.example\u001b\\link\u001b]8;;\u001b\\ \u009b2J \rover \u202eback\u202c \u0007\u0008 end'
await mkdir(join(home.skills, 'steers'), { recursive: true })
await writeFile(join(home.skills, 'steers', 'skill.js'), `const hostile = ${JSON.stringify(hostile)}

export default {
  description: 'Steers ' + hostile,
  tools: {
    print: { description: hostile, run: () => 'first\\tline\\n' + hostile },
    fail: { description: hostile, run () { throw new Error(hostile) } },
    log: { description: hostile, run (_, { log }) { log('info', hostile); return '' } }
  }
}
`)
await mkdir(join(home.skills, 'shell'), { recursive: true })
await writeFile(join(home.skills, 'shell', 'skill.toml'), `description = "A command that fails"
[[tools]]
name = "fail"
description = "Fails with a message that steers"
command = ["sh", "-c", "printf '\\\\033]0;title\\\\007\\\\033[2Jwrong\\\\n' >&2; exit 3"]
`)

/**
 * Runs a command on a terminal of its own.
 * @returns what the terminal was sent, standard output and standard error together
 */
async function onTerminal (...args: string[]): Promise<string> {
  const command = [launcher, ...launch, ...args].map(word => `'${word}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: home.folder, env: { ...home.env, TERM: 'xterm' }, stdio: ['ignore', 'pipe', 'inherit']
  })
  let sent = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { sent += text })
  await once(child, 'close')
  return sent.replaceAll('\r\n', '\n') // the terminal's own
}

/** Our own colours, the spinner's cursor, and the end of its line. */
const own = new RegExp(`${String.fromCharCode(27)}\\[(?:(?:0|1|2|22|3[0-79]|90)m|\\?(?:25|2026)[hl]|\\d*[GK]|1A)`, 'g')
const steers = /(?![\n\t])[\p{Cc}\u202a-\u202e]/u

const skip = spawnSync('script', ['--version']).error === undefined ? false : 'there is no command `script`'

t.test('a terminal is not steered', { skip }, async t => {

  for (const tool of ['print', 'fail', 'log']) {
    const sent = await onTerminal('run', `steers:${tool}`)
    t.notMatch(sent.replaceAll(own, ''), steers, tool)
    t.match(sent, /red.*link.*over back.* end/s, `${tool}: the text is there`)

  }
  t.notMatch(await onTerminal('run', 'steers:print'), /52;c|0;title/, 'sequences are taken out whole')
  t.match(
    await onTerminal('run', 'steers:print'),
    'first\tline\nred',
    'line ends and tabs are kept, and a colour of the tool\'s is not'
  )
  t.notMatch((await onTerminal('run', 'shell:fail')).replaceAll(own, ''), steers, 'standard error of a command')
  for (const args of [
    ['show'], ['show', '--output'], ['history'], ['list'], ['info', 'steers'], ['info', 'steers:print'], ['doctor'],
    ['search', 'steers'], ['run', 'steers:print', '--json'], ['run', `steers:print${hostile}`]
  ]) {
    t.notMatch((await onTerminal(...args)).replaceAll(own, ''), steers, args.join(' '))
  }
})

t.test('what is no terminal gets the bytes as they are', async t => {
  t.equal((await skillet(home, ['run', 'steers:print'])).stdout, `first\tline\n${hostile}\n`)
  t.match((await skillet(home, ['run', 'steers:fail'])).stderr, hostile)
})
