import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startCommands } from '../support/e2e-commands.ts'
import { node, program, skillet } from '../support/program.ts'

const run = promisify(execFile)
const { home, server, json } = await startCommands()
t.teardown(async () => {
  await server.kill()
  await home.remove()
})

t.test('doctor says that all is well, or what is not, with its place', async t => {
  await mkdir(join(home.skills, 'broken'))
  await writeFile(join(home.skills, 'broken', 'skill.toml'), 'tools = 5')
  const beside = (await skillet(home, ['doctor', '--port', new URL(server.url).port])).stdout
  t.match(beside, `process ${server.pid} serves this data directory at ${server.url}`)
  t.match(beside, /ok +search +the model in .* loads/)
  t.match(beside, new RegExp(`Skillet .* serves at ${server.url}`))
  const bad = join(home.folder, 'bad.toml')
  await writeFile(bad, 'prot = 1')
  const ill = await skillet(home, ['doctor', '--json', '--config', bad])
  t.equal(ill.status, 1)
  const { healthy, findings } =
    JSON.parse(ill.stdout) as { healthy: boolean, findings: { level: string, about: string, text: string }[] }
  t.equal(healthy, false)
  const problems = findings.filter(({ level }) => level === 'problem')
  t.match(problems.find(({ about }) => about === 'configuration')?.text, /bad\.toml.*prot/)
  t.match(problems.find(({ about }) => about === 'skill broken')?.text, /broken\/skill\.toml: /)
  t.match(problems.find(({ about }) => about === 'command no-such-command-at-all')?.text, /command:missing/)

  const file = join(home.folder, 'a-file')
  await writeFile(file, '')
  const nowhere = await skillet(home, ['doctor', '--data-dir', join(file, 'data'), '--port', '0'])
  t.match(nowhere, { status: 1, stdout: /problem +start .*ENOTDIR/ }, 'the history can\'t be kept')
  t.match(nowhere.stdout, /skill broken/, 'the skills are looked at all the same')
  const link = join(home.folder, 'a-link')
  await symlink(home.data_dir, link)
  const linked = await skillet(home, ['doctor', '--data-dir', link, '--port', '0'])
  t.match(linked, { status: 1, stdout: /problem +start +the data directory .*a-link is a symbolic link; name the directory it leads to with --data-dir/ })
  await rm(join(home.skills, 'broken'), { recursive: true })
})

t.test('shells complete commands, options, tools, parameters and their values', async t => {
  const cases: [string, string[]][] = [
    ['skillet hi', ['history']],
    ['skillet history --status r', ['running']],
    ['skillet run drip:', ['two', 'forever', 'fail']],
    ['skillet run drip:fail ', ['colour=']],
    ['skillet run drip:fail colour=', ['red', 'green']],
    ['skillet nonsense ', []],
    ['skillet history --st', ['--status']]
  ]
  const lines = cases.map(([line]) =>
    `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; COMPREPLY=(); _skillet; echo "\${COMPREPLY[*]}"`)
  const { stdout } = await run(
    'bash',
    ['--norc', '-c', `compopt () { :; }; eval "$(skillet completions bash)"\n${lines.join('\n')}`],
    { env: home.env, cwd: home.folder }
  )
  t.same(stdout.trimEnd().split('\n'), cases.map(([, words]) => words.join(' ')))
})

for (const [shell, start] of [
  ['bash --norc', 'eval "$(skillet completions bash)"'],
  ['zsh -f', 'autoload -Uz compinit; compinit -u -D; eval "$(skillet completions zsh)"'],
  ['fish --no-config', 'skillet completions fish | source']
] as const) {
  const [name = ''] = shell.split(' ')
  const missing = [name, 'script'].find(command => spawnSync(command, ['--version']).error !== undefined)
  t.test(`what is typed in ${name} becomes what was meant`, {
    skip: missing === undefined ? false : `${missing} is not installed`
  }, async t => {
    // Each key as a person presses it; Enter shows what the shell made of the line.
    const typed: [string, string][] = [
      ['skillet hi\t', '<history>'],
      ['skillet inf\tdri\t', '<info><drip>'],
      ['skillet run dr\ttw\tf\tx', '<run><drip:two><file=x>'],
      ['skillet run drip:fail col\tg\t', '<run><drip:fail><colour=green>'],
      ['skillet history --stat\trunn\t', '<history><--status><running>'],
      ['skillet config ch\t', '<config><check>']
    ]
    const log = join(home.folder, `${name}.log`)
    const bin = join(home.folder, `${name}-bin`)
    await mkdir(bin)
    await writeFile(
      join(bin, 'skillet'),
      `#!/bin/sh\ncase $1 in completions | __complete) exec "${join(home.folder, 'bin', 'skillet')}" "$@" ;; esac\nprintf '<%s>' "$@" >> '${log}'\necho >> '${log}'\n`,
      { mode: 0o755 }
    )
    const terminal = spawn('script', ['-qfec', `${shell} -i`, '/dev/null'], {
      cwd: home.folder,
      env: { ...home.env, PATH: `${bin}:${home.env['PATH']}`, TERM: 'xterm' },
      stdio: ['pipe', 'ignore', 'ignore']
    })
    t.teardown(() => terminal.kill('SIGKILL'))
    terminal.stdin.end([start, ...typed.map(([keys]) => keys), 'exit', ''].join('\r'))
    await once(terminal, 'close')
    t.same((await readFile(log, 'utf8')).trimEnd().split('\n'), typed.map(([, made]) => made))
  })
}

t.test('a terminal that does not say how wide it is cuts nothing', {
  skip: spawnSync('script', ['--version']).error === undefined ? false : 'script is not installed'
}, async t => {
  const { stdout } = await run('script', ['-qfec', 'skillet list', '/dev/null'], {
    env: { ...home.env, NO_COLOR: '1', TERM: 'xterm' },
    cwd: home.folder
  })
  t.match(stdout, /^ {2}drip:fail +Put out a drop, and fail\r$/m)
})

t.test('init writes a skill that runs, and a test that passes and can fail', async t => {
  const made = await json('init', 'count', '--native', '--directory', join(home.folder, 'my skills')) as {
    folder: string, run: string, test: string
  }
  const shell = (line: string): Promise<{ stdout: string }> =>
    run('bash', ['-c', line], { env: home.env, cwd: home.folder })
  t.match(await shell(made.run), { stdout: /^ *\d+ / })
  t.match(await shell(made.test), { stdout: /[#ℹ] pass 2\n[#ℹ] fail 0/ })
  const manifest = join(made.folder, 'skill.toml')
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"-l"', '"-c"'))
  await t.rejects(shell(made.test), { code: 1 }, 'it tests the skill')
  t.match(await skillet(home, ['init', 'count', '--directory', 'my skills']), { status: 2, stderr: /is there already/ })
  t.match(await skillet(home, ['init', 'No_Name']), { status: 2, stderr: /can't be the name of a skill/ })
})

t.test('colours and a spinner are for terminals', {
  skip: spawnSync('python3', ['--version']).error === undefined ? false : 'needs python3'
}, async t => {
  /** Runs in a terminal of its own; what was seen there. */
  const seen = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const script = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))'
    const clean: NodeJS.ProcessEnv = { ...home.env, TERM: 'xterm', ...env }
    delete clean['CI']
    const { stdout } = await run('python3', ['-c', script, node, program, ...args], { env: clean, cwd: home.folder })
    return stdout
  }
  t.ok((await seen(['list'])).includes('\u001b[1mdrip\u001b[22m'))
  t.notOk((await seen(['list'], { NO_COLOR: '1' })).includes('\u001b'))
  const slow = await seen(['run', 'command:sleep', 'seconds=1'])
  t.ok(slow.includes('command:sleep'), 'it is shown that it lasts')
  t.ok(slow.lastIndexOf('\u001b[?25h') > slow.lastIndexOf('\u001b[?25l'), 'the cursor is back')
  t.ok((await skillet(home, ['list'], { env: { FORCE_COLOR: '1' } })).stdout.includes('\u001b[1mdrip'))
  t.notOk((await skillet(home, ['list'])).stdout.includes('\u001b'))
})
