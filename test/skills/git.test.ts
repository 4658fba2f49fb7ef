import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type JsonObject, type SkillDefinition } from '../../kernel/index.ts'
import { expandCommand } from '../../plugins/toolkit/expand-command.ts'
import { checked, loadBundled, toolOf } from '../support/load-skills.ts'

const skill = await loadBundled('git')
const tools = ['status', 'log', 'diff', 'show', 'blame', 'branches']

/** Runs the command a tool expands to, with an environment such as an executor gives it. */
function run (
  skill: SkillDefinition, name: string, parameters: JsonObject, variables: Record<string, string> = {}
): { code: number | null, output: string, stderr: string } {
  const tool = toolOf(skill, name)
  const { program, args, env } =
    expandCommand(tool.command ?? { program: 'false', parts: [], dashes: [] }, checked(tool, parameters))
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env, ...variables },
    timeout: 60_000
  })
  return { code: status, output: stdout, stderr }
}

function output (name: string, parameters: JsonObject): string {
  const { code, output, stderr } = run(skill, name, parameters)
  if (code !== 0) throw new Error(`${name} failed with ${code}: ${stderr}`)
  return output
}

function git (repository: string, ...args: string[]): string {
  const environment = {
    PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.org', GIT_AUTHOR_DATE: '2024-05-01T10:00:00Z',
    GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.org', GIT_COMMITTER_DATE: '2024-05-01T10:00:00Z'
  }
  return execFileSync('git', ['-C', repository, ...args], {
    encoding: 'utf8', env: environment, stdio: ['ignore', 'pipe', 'pipe']
  })
}

function commit (repository: string, message: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(repository, name), text)
  git(repository, 'add', '--all')
  git(repository, 'commit', '--quiet', '-m', message)
}

function repositoryWithHistory (t: Test): string {
  const repository = t.testdir({})
  git(repository, 'init', '--quiet', '--initial-branch=main')
  commit(repository, 'Add a poem\n\nIt has two lines.', { 'poem.txt': 'roses\nviolets\n', 'other.txt': 'x\n' })
  commit(repository, 'Make violets blue', { 'poem.txt': 'roses\nviolets are blue\n' })
  git(repository, 'branch', 'topic', 'HEAD~1')
  return repository
}

t.test('each tool reads a repository', async t => {
  const repository = repositoryWithHistory(t)
  writeFileSync(join(repository, 'poem.txt'), 'roses are red\nviolets are blue\n')
  writeFileSync(join(repository, 'new file.txt'), '')
  t.equal(output('status', { repository }), '## main\n M poem.txt\n?? "new file.txt"\n')
  t.equal(output('status', { repository, untracked: 'no', paths: ['other.txt'] }), '## main\n')
  t.match(output('log', { repository }), /^[0-9a-f]{7,} 2024-05-01T10:00:00\S* Ada: Make violets blue\n[0-9a-f]{7,} \S+ Ada: Add a poem\n$/)
  t.match(
    output('log', { repository, count: 1, skip: 1, full: true }),
    /author Ada <ada@example\.org>[^]*It has two lines\.\n/
  )
  t.match(output('log', { repository, paths: ['other.txt'] }), /^\S+ \S+ Ada: Add a poem\n$/)
  t.equal(output('log', { repository, message: '.*' }), '', 'a message is a text, not a pattern')
  t.match(output('log', { repository, message: 'VIOLETS', stat: true }), /poem\.txt \| 2 \+-/)
  t.equal(output('log', { repository, author: 'bob' }), '')
  t.equal(output('log', { repository, since: '2025-01-01' }), '')
  t.match(output('diff', { repository }), /^diff --git a\/poem\.txt b\/poem\.txt\n[^]*-roses\n\+roses are red\n violets are blue\n$/)
  t.equal(output('diff', { repository, staged: true }), '')
  t.match(
    output('diff', { repository, revision: 'topic..main', context: 0 }),
    /@@ -2 \+2 @@ roses\n-violets\n\+violets are blue\n$/
  )
  t.match(output('diff', { repository, revision: 'HEAD', stat: true }), /1 file changed/)
  t.match(output('show', { repository }), /Make violets blue\n[^]*\+violets are blue/)
  t.equal(output('show', { repository, object: 'topic:poem.txt' }), 'roses\nviolets\n')
  t.match(output('show', { repository, object: 'topic:' }), /other\.txt\npoem\.txt/)
  t.match(
    output('blame', { repository, path: 'poem.txt' }),
    /^\S+ \(Ada 2024-05-01T10:00:00\S* 1\) roses\n\S+ \(Ada \S+ 2\) violets are blue\n$/
  )
  t.match(
    output('blame', { repository, path: 'poem.txt', lines: '2,+1', revision: 'topic' }),
    /^\S+ \(Ada \S+ 2\) violets\n$/
  )
  t.match(output('branches', { repository }), /^[* ] (main|topic) [^\n]*\n[* ] (main|topic) [^\n]*\n$/)
  t.match(
    output('branches', { repository, contains: 'main' }),
    /^\* main [0-9a-f]+ 2024-05-01T10:00:00\S* Make violets blue\n$/
  )
})

t.test('what can\'t be read is refused or fails with git\'s reason', async t => {
  const repository = repositoryWithHistory(t)
  t.throws(
    () => output('log', { repository, revision: '--output=/tmp/x' }),
    { message: /parameters\/revision must not begin with "-"/ }
  )
  t.throws(() => output('diff', { repository: '-c' }), { message: /parameters\/repository must not begin with "-"/ })
  t.throws(
    () => output('blame', { repository, path: 'poem.txt', lines: '/x/,2' }),
    { message: /parameters\/lines must match pattern/ }
  )
  t.throws(() => output('blame', { repository }), { message: /must have the field "path"/ })
  t.throws(() => output('log', { repository, count: 1001 }), { message: /parameters\/count must be <= 1000/ })
  t.match(run(skill, 'show', { repository, object: 'nowhere' }), { code: 128, stderr: /nowhere/ })
  const outside = t.testdir({ empty: {}, a: '1', b: '2' })
  rmSync(join(outside, '.git'), { recursive: true, force: true })
  const apart = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
  t.teardown(() => { rmSync(apart, { recursive: true }) })
  for (const name of tools) {
    t.match(
      run(skill, name, {
        repository: apart,
        ...(name === 'blame' && { path: 'a' }),
        ...(name === 'diff' && { paths: ['/etc/hostname', '/etc/passwd'] })
      }),
      { code: 128, output: '', stderr: /not a git repository/ },
      name
    )
  }
})

t.test('diff compares no files outside of the repository, and none of Skillet\'s own in it', async t => {
  const repository = repositoryWithHistory(t)
  const apart = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
  t.teardown(() => { rmSync(apart, { recursive: true }) })
  writeFileSync(join(apart, '.env'), 'SERVICE_API_KEY=canary\n')
  writeFileSync(join(repository, '.env'), 'SERVICE_API_KEY=canary\n') // not tracked
  for (const file of [join(apart, '.env'), join(repository, '.env'), '.env']) {
    for (const paths of [
      [file, '/dev/null'], ['/dev/null', file], [file, 'poem.txt'], [file], [file, file], [file, '/dev/null', file]
    ]) {
      const { output, stderr } = run(skill, 'diff', { repository, paths })
      t.notMatch(output + stderr, 'canary', paths.join(' '))
    }
    t.notMatch(run(skill, 'diff', { repository, revision: file }).output, 'canary')
  }
  commit(repository, 'Track it', { '.env': 'old\n', 'other.txt': 'a\n' })
  for (const [name, text] of [['.env', 'canary\n'], ['other.txt', 'b\n']] as const) {
    writeFileSync(join(repository, name), text)
  }
  const own = { SKILLET_PRIVATE_PATHS: `/nowhere/at/all\n${repository}/.env\n/nowhere` }
  t.match(run(skill, 'diff', { repository }).output, 'canary', 'anybody\'s file')
  for (const parameters of [
    {}, { paths: ['.env'] }, { paths: ['.'] }, { revision: 'HEAD' }, { paths: ['.ENV', '*env'] }
  ]) {
    t.notMatch(run(skill, 'diff', { repository, ...parameters }, own), { output: /canary/ }, JSON.stringify(parameters))
  }
  t.match(run(skill, 'diff', { repository }, own), { code: 0, output: /other\.txt/ })
  t.match(run(skill, 'diff', { repository }, { SKILLET_PRIVATE_PATHS: repository }), {
    code: 1,
    stderr: /is Skillet's own/
  })
  mkdirSync(join(repository, 'folder'))
  t.match(
    run(skill, 'diff', { repository: join(repository, 'folder') }, own),
    { code: 0, output: /other\.txt/ },
    'from a folder the whole repository is compared'
  )
})

/** Calls that between them reach every place where git might start a program. */
const calls: [string, JsonObject][] = [
  ['status', {}], ['status', { untracked: 'all', ignored: true }],
  ['log', { stat: true, full: true }], ['log', { paths: ['.'] }],
  ['diff', {}], ['diff', { staged: true }], ['diff', { revision: 'HEAD' }],
  ['diff', { revision: 'HEAD~1..HEAD', stat: true }],
  ['show', {}], ['show', { object: 'HEAD:data.evil' }], ['show', { object: 'tagged' }],
  ['blame', { path: 'data.evil' }], ['branches', { remote: true }]
]

t.test('a hostile repository runs nothing, whichever way it tries', async t => {
  const repository = t.testdir({})
  const canaries = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
  t.teardown(() => { rmSync(canaries, { recursive: true }) })
  const trap = (name: string, then = ''): string => {
    const script = join(canaries, `${name}.sh`)
    writeFileSync(script, `#!/bin/sh\ntouch ${join(canaries, name)}\n${then}\nexit 0\n`)
    chmodSync(script, 0o755)
    return script
  }
  const sprung = (): string[] => vectors.filter(name => existsSync(join(canaries, name)))
  const disarm = (): void => { for (const name of vectors) rmSync(join(canaries, name), { force: true }) }
  const vectors = [
    'fsmonitor', 'hook', 'hooks-path', 'external', 'driver', 'textconv', 'clean', 'process', 'odd-clean', 'info-clean',
    'pager', 'gpg',
    'ssh', 'upload', 'alias', 'submodule-fsmonitor', 'submodule-clean', 'editor', 'alternate-refs', 'credential',
    'included-clean', 'worktree-clean'
  ]

  git(repository, 'init', '--quiet', '--initial-branch=main')
  const sub = join(repository, 'sub')
  mkdirSync(sub)
  git(sub, 'init', '--quiet')
  commit(sub, 'inner', { 'inner.txt': 'inner\n' })
  const names = ['data.evil', 'data.proc', 'data.odd', 'data.info', 'data.inc', 'data.wt', 'data.txt', 'plain']
  const contents = (text: string): Record<string, string> =>
    Object.fromEntries(names.map(name => [name, `${text} ${name}\n`]))
  commit(repository, 'first', contents('one'))
  commit(repository, 'second', contents('two'))
  git(repository, 'tag', '-a', '-m', 'a tag', 'tagged')

  // Everything below is what an attacker may put into a folder that somebody unpacks.
  writeFileSync(join(repository, '.gitattributes'), [
    '*.evil filter=evil diff=evil', '*.proc filter=proc', '*.odd filter=o=d.d diff=evil', '*.inc filter=inc',
    '*.wt filter=wt', '*.txt diff=evil', ''
  ].join('\n'))
  writeFileSync(join(repository, '.git/info/attributes'), '*.info filter=info\n')
  const set = (name: string, value: string): void => { git(repository, 'config', name, value) }
  set('filter.evil.clean', trap('clean', 'cat'))
  set('filter.evil.required', 'true')
  set(
    'filter.proc.process',
    trap('process', "printf '0016git-filter-server\\n000eversion=2\\n00000000'; cat >/dev/null")
  )
  set('filter.o=d.d.clean', trap('odd-clean', 'cat'))
  set('filter.info.clean', trap('info-clean', 'cat'))
  writeFileSync(join(repository, '.git/more'), `[filter "inc"]\n\tclean = ${trap('included-clean', 'cat')}\n`)
  set('include.path', 'more')
  set('extensions.worktreeConfig', 'true')
  writeFileSync(join(repository, '.git/config.worktree'), `[filter "wt"]\n\tclean = ${trap('worktree-clean', 'cat')}\n`)
  set('diff.evil.command', trap('driver'))
  set('diff.evil.textconv', trap('textconv'))
  set('diff.external', trap('external'))
  for (const name of ['log', 'diff', 'show', 'blame', 'status', 'for-each-ref']) {
    set(`pager.${name}`, 'true')
    set(`alias.${name}`, `!${trap('alias')}`)
  }
  set('core.pager', trap('pager'))
  set('core.editor', trap('editor'))
  set('core.sshCommand', trap('ssh'))
  set('core.alternateRefsCommand', trap('alternate-refs'))
  set('credential.helper', trap('credential'))
  set('gpg.program', trap('gpg'))
  set('log.showSignature', 'true')
  set('format.pretty', '%G? %H')
  set('status.submoduleSummary', 'true')
  set('diff.submodule', 'log')
  set('submodule.recurse', 'true')
  set('color.ui', 'always')
  set('diff.ignoreSubmodules', 'none')
  for (const hook of [
    'post-index-change', 'fsmonitor-watchman', 'post-checkout', 'pre-auto-gc', 'reference-transaction'
  ]) {
    trap('hook')
    writeFileSync(join(repository, '.git/hooks', hook), readFileSync(join(canaries, 'hook.sh')), { mode: 0o755 })
  }
  mkdirSync(join(canaries, 'hooks'))
  writeFileSync(join(canaries, 'hooks/post-index-change'), readFileSync(trap('hooks-path')), { mode: 0o755 })
  git(sub, 'config', 'core.fsmonitor', trap('submodule-fsmonitor'))
  git(sub, 'config', 'filter.s.clean', trap('submodule-clean', 'cat'))
  writeFileSync(join(sub, '.gitattributes'), '* filter=s\n')
  set('core.fsmonitor', trap('fsmonitor'))
  // A missing object makes a partial clone fetch it, with a command of the configuration's choice.
  set('extensions.partialClone', 'origin')
  set('remote.origin.promisor', 'true')
  set('remote.origin.url', repository)
  set('remote.origin.uploadpack', trap('upload'))
  for (const protocol of ['file', 'ssh', 'ext']) set(`protocol.${protocol}.allow`, 'always')
  // Same size, another time: git must read these files to know whether they changed. Signed, so that there is a
  // signature to check.
  const touch = (): void => {
    for (const name of names) {
      utimesSync(join(repository, name), new Date(), new Date(Date.now() - 10_000 * (1 + Math.random())))
    }
    utimesSync(join(sub, 'inner.txt'), new Date(), new Date(1e12))
  }
  const signed = git(repository, 'cat-file', 'commit', 'HEAD')
    .replace('\n\n', '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n')
  const hash = execFileSync('git', ['-C', repository, 'hash-object', '-t', 'commit', '-w', '--stdin'], {
    input: signed,
    encoding: 'utf8'
  }).trim()
  writeFileSync(join(repository, '.git/refs/heads/main'), `${hash}\n`)
  rmSync(join(repository, '.git/objects', git(repository, 'rev-parse', 'HEAD~1:data.txt').trim().replace(/^../, '$&/')))

  await t.test('the traps work: git by itself springs them', async t => {
    touch()
    disarm()
    spawnSync('git', ['-C', repository, 'status'], {
      env: { PATH: process.env['PATH'], HOME: '/nonexistent' },
      timeout: 20_000
    })
    t.match(sprung(), ['fsmonitor'])
    for (const args of [
      ['diff', 'HEAD~1', 'HEAD', '--', 'plain'],
      ['diff', 'HEAD~1', 'HEAD', '--', 'data.odd'],
      ['update-index', '--refresh'],
      ['log', '-p', 'HEAD'],
      ['show', '--no-ext-diff', 'HEAD'],
      ['blame', 'data.evil'],
      ['status'],
      ['-c', `core.hooksPath=${join(canaries, 'hooks')}`, 'update-index', '--refresh']
    ]) {
      touch()
      spawnSync('git', ['-C', repository, '-c', 'core.fsmonitor=false', ...args], {
        env: { PATH: process.env['PATH'], HOME: '/nonexistent' },
        timeout: 20_000
      })
    }
    const found = sprung()
    for (const name of [
      'clean', 'process', 'odd-clean', 'info-clean', 'included-clean', 'worktree-clean', 'external', 'driver',
      'textconv', 'hooks-path', 'gpg', 'submodule-clean', 'upload', 'hook'
    ]) {
      t.ok(found.includes(name), `${name} is a trap that works`)
    }
  })

  await t.test('the tools spring none', async t => {
    for (const hooksPath of [undefined, join(canaries, 'hooks')]) {
      if (hooksPath !== undefined) set('core.hooksPath', hooksPath)
      for (const [name, parameters] of calls) {
        touch()
        disarm()
        const index = statSync(join(repository, '.git/index'), { bigint: true })
        const result = run(skill, name, { repository, ...parameters })
        t.same(sprung(), [], `${name} ${JSON.stringify(parameters)}`)
        t.equal(
          statSync(join(repository, '.git/index'), { bigint: true }).mtimeNs, index.mtimeNs, 'the index is as it was'
        )
        t.notMatch(result.output, '\u001b', 'no colours')
        t.ok(
          result.code === 0
          || /data\.txt|unable to read|bad object|promisor|not allowed|read-only|transport/.test(result.stderr),
          `${name}: ${result.code} ${result.stderr}`
        )
      }
    }
    t.equal(
      run(skill, 'status', { repository, paths: names, untracked: 'no' }).output,
      '## main\n',
      'and nothing is taken for changed'
    )
  })
})
