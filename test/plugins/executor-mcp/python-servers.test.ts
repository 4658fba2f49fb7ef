import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { SkillDefinition } from '../../../kernel/index.ts'
import plugin from '../../../plugins/executor-mcp/index.ts'
import { tryServerLevels } from '../../../plugins/executor-mcp/process/probe.ts'
import { openPlugin } from '../../../plugins/testing/open-plugin.ts'
import { until } from '../../../plugins/testing/until.ts'
import { callOf, removeFolder, runMcp, serverSkill } from '../../support/mcp-servers.ts'

// Real servers from PyPI, in the sandbox where this machine has one.

t.teardown(removeFolder)
t.setTimeout(280_000)

const environment = process.env['TEST_PYTHON_SERVERS'] ?? ''
const options = {
  skip: environment !== '' ? false : 'TEST_PYTHON_SERVERS names no virtual environment with mcp-server-git and mcp-server-time'
}
const repository = mkdtempSync(join(tmpdir(), 'skillet-repository-'))
t.teardown(() => { rmSync(repository, { recursive: true, force: true }) })

t.test('mcp-server-git and mcp-server-time list their tools, run them, and refuse what is wrong', options, async t => {
  const git = (...args: string[]): string => execFileSync('git', [
    '-C', repository, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args
  ], { encoding: 'utf8' })
  git('init', '--quiet')
  writeFileSync(join(repository, 'note.txt'), 'a first line\n')
  git('add', '.')
  git('commit', '--quiet', '--message', 'Begin')
  writeFileSync(join(repository, 'note.txt'), 'another line\n')
  const { sandbox } = await tryServerLevels()
  const isolation = sandbox === undefined ? 'sandbox' : 'process'
  const { service: executor, close } = await openPlugin(plugin, { config: { isolation: { mode: 'auto' } } })
  t.teardown(close)

  const gitServer = python('mcp-server-git', ['--repository', repository])
  const diff = await runMcp(executor, callOf(gitServer, 'git_diff_unstaged', { repo_path: repository }))
  t.match(diff, { status: 'success', output: /-a first line\n\+another line/, heard: { isolations: [isolation] } })
  t.match(await runMcp(executor, callOf(gitServer, 'git_log', { repo_path: repository })), { output: /Begin/ })
  const elsewhere = callOf(gitServer, 'git_log', { repo_path: tmpdir() })
  t.match(await runMcp(executor, elsewhere), { status: 'failed' }, 'a repository that it was not given')

  const timeServer = python('mcp-server-time', ['--local-timezone', 'UTC'])
  const told = await runMcp(executor, callOf(timeServer, 'convert_time', {
    source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo'
  }))
  t.match(told, { status: 'success', output: /21:00/ })
  const nowhere = callOf(timeServer, 'get_current_time', { timezone: 'Nowhere/Land' })
  t.match(await runMcp(executor, nowhere), { status: 'failed', error: { message: /get_current_time failed/ } })

  for (const [skill, tool] of [[gitServer, 'git_status'], [timeServer, 'convert_time']] as const) {
    const file = String(skill.target?.['list_file'])
    await until(async () => (await readFile(file, 'utf8').catch(() => '')).includes(`"${tool}"`))
  }
})

/** A server that is installed in the virtual environment. */
function python (program: string, args: readonly string[]): SkillDefinition {
  const base = execFileSync(
    join(environment, 'bin/python'), ['-c', 'import sys; print(sys.base_prefix)'], { encoding: 'utf8' }
  )
  const skill = serverSkill({ TZ: 'UTC' }, { command: [join(environment, 'bin', program), ...args] })
  return { ...skill, permissions: { ...skill.permissions, read: [environment, base.trim(), repository] } }
}
