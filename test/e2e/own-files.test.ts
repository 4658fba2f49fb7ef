import { execFileSync } from 'node:child_process'
import { link, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { makeHome, request, skillet, startServer } from '../support/program.ts'

/**
 * Whoever may use one bundled skill alone must not get at the server's configuration, secrets, keys, history or
 * environment by it.
 */

const home = await makeHome()
t.teardown(home.remove)
const project = join(home.folder, 'project')
const config = join(home.folder, 'config', 'skillet')
const data = join(home.folder, 'elsewhere', 'data')
await mkdir(join(project, 'notes'), { recursive: true })
await mkdir(config, { recursive: true })
await mkdir(join(home.folder, 'elsewhere'))
const canary = 'canary-0123456789-canary'
await writeFile(join(project, 'skillet.toml'), `# ${canary}\n[skills.config.files]\nroots = ["/"]\n`)
await writeFile(join(project, '.env'), `SERVICE_API_KEY=${canary}\n`, { mode: 0o600 })
await writeFile(join(project, 'mine.txt'), 'a file of the user\n')
await writeFile(join(config, 'skillet.toml'), `# ${canary}\n`)
await writeFile(join(config, 'other.txt'), canary)
const set = await skillet(home, ['secret', 'set', 'git', 'TOKEN'], { input: canary })
if (set.status !== 0) throw new Error(set.stderr)
await symlink(project, join(home.folder, 'by-link'))
await symlink(join(project, '.env'), join(project, 'notes', 'link'))
await link(join(project, '.env'), join(project, 'notes', 'hard'))
await link(join(config, 'secrets.json'), join(project, 'notes', 'hard-secrets'))
await link(join(config, 'other.txt'), join(project, 'notes', 'hard-other'))
const git = (...args: string[]): void => {
  execFileSync('git', ['-C', project, '-c', 'user.name=A', '-c', 'user.email=a@b.example', ...args], {
    stdio: 'ignore'
  })
}
git('init')
git('add', 'mine.txt')
git('commit', '-m', 'First')

const server = await startServer(
  home, ['--auth-required', '--data-dir', data, '--server-failed-auth-limit-per-minute', '0'], { cwd: project }
)
t.teardown(server.kill)
const keys = new Map<string, string>()
for (const skill of ['files', 'hash', 'sqlite', 'git']) {
  const { stdout } = await skillet(home, ['key', 'create', skill, '--skill', skill, '--json'], { cwd: project })
  keys.set(skill, (JSON.parse(stdout) as { key: string }).key)
}

/** Calls a tool with the key that is confined to its skill. */
async function call (skill: string, tool: string, parameters: object): Promise<{ status: number, text: string }> {
  const headers = { 'x-api-key': keys.get(skill) ?? '', 'content-type': 'application/json' }
  for (;;) {
    const { status, body } =
      await request(server.url, '/api/execute', { skill_name: skill, tool_name: tool, parameters }, { headers })
    if (status !== 401) return { status, text: JSON.stringify(body) }
    await new Promise(resolve => setTimeout(resolve, 50)) // the server has not seen the key yet
  }
}

const own = [
  join(project, '.env'), join(project, 'skillet.toml'), join(config, 'skillet.toml'), join(config, 'secrets.json'),
  join(config, 'other.txt'), join(data, 'data.mdb'), join(data, 'lock.mdb'),
  'project/../.env', '/proc/self/environ', '/proc/self/cmdline', '/proc/1/environ'
].map(path => path.replace('project/..', `${project}/notes/..`))
const ways = (path: string): string[] => [
  path, path.replace(project, join(home.folder, 'by-link')), `/proc/self/root${path}`,
  `/proc/${server.pid}/root${path}`, path.replace(project, '/proc/self/cwd'),
  path.replace(project, `/proc/${server.pid}/cwd`),
  `/..//.${path}`, path.replace(home.folder, '~')
]
const paths = [...new Set([
  ...own.flatMap(ways),
  `/proc/${server.pid}/environ`,
  `/proc/${server.pid}/task/${server.pid}/environ`,
  ...['link', 'hard', 'hard-secrets', 'hard-other'].map(name => join(project, 'notes', name))
])]
  .filter(path => !path.includes('/proc/1/cwd'))

t.test('by no path, whatever the skill', async t => {
  for (const path of paths) {
    for (const [skill, tool, parameters] of [
      ['files', 'read', { path }], ['files', 'read_bytes', { path }], ['files', 'stat', { path }],
      ['files', 'search', { path, text: 'canary' }],
      ['hash', 'file', { path }], ['hash', 'verify', { path, expected: '0'.repeat(64) }],
      ['sqlite', 'tables', { database: path }]
    ] as const) {
      const { status, text } = await call(skill, tool, parameters)
      t.equal(status, 422, `${skill}:${tool} ${path}`)
      t.match(text, /is Skillet's own|does not exist|can't be read|ENOENT|EACCES|EINVAL/, `${skill}:${tool} ${path}`)
      t.notMatch(text, canary)
    }
  }
})

t.test('folders of its own are neither listed nor searched', async t => {
  for (const path of [config, data, '/proc', '/proc/self', `/proc/${server.pid}/fd`]) {
    for (const [tool, parameters] of [
      ['list', {}], ['tree', { depth: 3 }], ['find', { glob: '*' }], ['search', { text: 'canary' }], ['stat', {}]
    ] as const) {
      t.match(
        await call('files', tool, { path, ...parameters }), { status: 422, text: /is Skillet's own/ }, `${tool} ${path}`
      )
    }
  }
  for (const path of [project, home.folder]) {
    const found = await call('files', 'search', { path, text: canary, hidden: true })
    t.match(found.status, 200)
    t.notMatch(found.text, canary)
    t.notMatch(
      (await call('files', 'find', { path, glob: '{.env,skillet.toml,secrets.json,data.mdb}', hidden: true })).text,
      /\.env|skillet\.toml|secrets\.json|data\.mdb/
    )
  }
  t.match(
    await call('files', 'read', { path: join(project, 'mine.txt') }),
    { status: 200, text: /a file of the user/ },
    'what is the user\'s is read'
  )
})

t.test('nor by a comparison that git makes', async t => {
  const { status } = await call('git', 'diff', { repository: project })
  t.equal(status, 200)
  for (const file of ['.env', 'skillet.toml', join(project, '.env'), join(config, 'secrets.json')]) {
    for (const paths of [[file, '/dev/null'], ['/dev/null', file], [file, 'mine.txt'], [file]]) {
      t.notMatch((await call('git', 'diff', { repository: project, paths })).text, canary, paths.join(' '))
    }
  }
  git('add', '--force', '.env')
  await writeFile(join(project, '.env'), `# changed\nSERVICE_API_KEY=${canary}\n`, { mode: 0o600 })
  t.notMatch((await call('git', 'diff', { repository: project, revision: 'HEAD' })).text, canary, 'tracked by mistake')
  await mkdir(join(home.folder, 'trap'))
  execFileSync('git', ['init', join(home.folder, 'trap')], { stdio: 'ignore' })
  execFileSync('git', ['-C', join(home.folder, 'trap'), 'config', 'core.worktree', config])
  t.match(await call('git', 'diff', { repository: join(home.folder, 'trap'), paths: ['secrets.json', '/dev/null'] }), {
    status: 422,
    text: /is Skillet's own/
  })
})

t.test('nor by the command line', async t => {
  t.match(
    (await skillet(home, ['run', 'files:read', `path=${join(project, '.env')}`], { cwd: project })).stderr,
    /is Skillet's own/
  )
  t.match(
    (await skillet(home, ['run', 'hash:file', `path=${join(config, 'secrets.json')}`], { cwd: project })).stderr,
    /is Skillet's own/
  )
  const named = join(home.folder, 'named')
  await mkdir(named)
  await writeFile(join(named, 'my.toml'), `# ${canary}\n`)
  await writeFile(join(named, '.env'), `# ${canary}\n`)
  for (const file of ['my.toml', '.env']) {
    t.match(
      (await skillet(home, ['run', 'files:read', `path=${file}`, '--config', 'my.toml'], { cwd: named })).stderr,
      /is Skillet's own/,
      file
    )
  }
  t.match(
    (await skillet(home, ['run', 'files:read', 'path=my.toml'], { cwd: named })).stdout,
    canary,
    'where it is nobody\'s configuration it is a file like any other'
  )
})

t.test('hash and sqlite keep to the folders of files', async t => {
  const narrow = join(home.folder, 'narrow')
  await mkdir(join(narrow, 'inside'), { recursive: true })
  await writeFile(join(narrow, 'skillet.toml'), '[skills.config.files]\nroots = ["inside"]\n')
  await writeFile(join(narrow, 'inside', 'a'), 'abc')
  await writeFile(join(narrow, 'b'), 'abc')
  t.match((await skillet(home, ['run', 'hash:file', 'path=a'], { cwd: narrow })).stdout, /^ba7816bf/)
  for (const run of [
    ['hash:file', 'path=../b'],
    ['hash:verify', `path=${join(narrow, 'b')}`, `expected=${'0'.repeat(64)}`],
    ['sqlite:tables', 'database=../b'],
    ['hash:file', 'path=/etc/passwd']
  ]) {
    t.match(
      (await skillet(home, ['run', ...run], { cwd: narrow })).stderr,
      /outside the folders that may be looked into/,
      run.join(' ')
    )
  }
})
