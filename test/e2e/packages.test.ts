import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { create } from 'tar'
import { makeHome, skillet, type Home } from '../support/program.ts'
import { answerInTerminal, hasTerminals } from '../support/pty.ts'

const toml = (word: string): string =>
  `description = "Say"\n[[tools]]\nname = "say"\ndescription = "Say"\ncommand = ["echo", "${word}"]\n`
/** A module that leaves a mark when it is run. */
const js = (mark: string): string => `import { writeFileSync } from 'node:fs'
writeFileSync(${JSON.stringify(mark)}, 'run')
export default { description: 'Code', tools: { say: { description: 'Say', run: () => 'code' } } }\n`

interface Place {
  home: Home
  source: string
  mark: string
  names (): Promise<string[]>
  lock (): Promise<Record<string, string>[]>
}

/** A home, and a folder with two skills: `code` and `words`. */
async function placeOf (t: Test): Promise<Place> {
  const home = await makeHome()
  t.teardown(home.remove)
  const source = join(home.folder, 'source')
  const mark = join(home.folder, 'mark')
  await mkdir(join(source, 'skills', 'code'), { recursive: true })
  await mkdir(join(source, 'skills', 'words'))
  await writeFile(join(source, 'skills', 'code', 'skill.mjs'), js(mark))
  await writeFile(join(source, 'skills', 'words', 'skill.toml'), toml('one'))
  const lockFile = join(home.folder, 'config', 'skillet', 'skills.lock.json')
  return {
    home, source, mark,
    names: async () => (await readdir(home.skills).catch(() => [])).sort(),
    lock: async () => (JSON.parse(await readFile(lockFile, 'utf8')) as { skills: Record<string, string>[] }).skills
  }
}

const output = async (home: Home, call: string): Promise<string> => (await skillet(home, ['run', call])).stdout

t.test('a folder: chosen, shown, confirmed, updated with a diff, removed', async t => {
  const { home, source, mark, names, lock } = await placeOf(t)
  t.match(await skillet(home, ['add', source]), {
    status: 2,
    stderr: /has 2 skills; choose one by --skill NAME: code, words/
  })
  t.match(await skillet(home, ['add', source, '--skill', 'none']), {
    status: 2,
    stderr: /no skill "none", but code, words/
  })
  const asked = await skillet(home, ['add', source, '--skill', 'words'])
  t.match(asked, { status: 2, stderr: /nobody can be asked.*add --yes/ })
  t.match(asked.stdout, /words:say +Say\nIt starts the programs echo\.\n$/)
  t.match(
    (await skillet(home, ['add', source, '--skill', 'code'])).stdout,
    /Its code is JavaScript\. Its tools .* known when/
  )
  t.same(await names(), [])
  t.notOk(await stat(mark).catch(() => undefined), 'nothing of it has run')

  const added = await skillet(home, ['add', source, '--skill', 'words', '--yes', '--json'])
  t.match(JSON.parse(added.stdout), { name: 'words', source, path: 'skills/words', resolved: source, tools: ['say'] })
  t.equal(await output(home, 'words:say'), 'one\n')
  t.match(await skillet(home, ['add', source, '--skill', 'words', '--yes']), { status: 2, stderr: /is there already/ })
  t.match(await skillet(home, ['add', join(source, 'skills', 'words'), '--as', 'other', '--yes']), {
    status: 0, stdout: /other is installed: .*skills\/other\n/
  })
  t.match(await skillet(home, ['update', 'words']), { status: 0, stdout: /words is up to date/ })
  await writeFile(join(source, 'skills', 'words', 'skill.toml'), toml('two'))
  const shown = await skillet(home, ['update', 'words'])
  t.match(shown.stdout, /file skill\.toml changed\n--- trusted|file skill\.toml changed\n---/)
  t.match(shown.stdout, '-command = ["echo", "one"]\n+command = ["echo", "two"]\n')
  t.equal(await output(home, 'words:say'), 'one\n', 'not without a yes')
  t.match(await skillet(home, ['update', '--yes', '--json']), { status: 0 })
  t.equal(await output(home, 'words:say'), 'two\n')
  t.equal(await output(home, 'other:say'), 'two\n', 'all that were installed')

  await writeFile(join(home.skills, 'words', 'skill.toml'), toml('mine'))
  t.match(await skillet(home, ['update', 'words', '--yes']), { status: 5, stdout: /was changed here .* --force/ })
  await writeFile(join(source, 'skills', 'words', 'skill.toml'), 'description = 3')
  const broken = await skillet(home, ['update', 'words', '--yes', '--force'])
  t.match(broken, { status: 5, stdout: /words was not updated: .*description/ })
  t.equal(await output(home, 'words:say'), 'mine\n', 'a broken version replaces nothing')
  t.equal((await skillet(home, ['trust', 'words', '--yes'])).status, 0)
  t.match(await skillet(home, ['remove', 'words']), { status: 2, stderr: /nobody can be asked/ })
  t.match(await skillet(home, ['remove', 'words', '--yes']), { status: 0, stdout: /words is removed/ })
  t.same(await names(), ['other'])
  t.same((await lock()).map(({ name }) => name), ['other'])
  t.match((await skillet(home, ['trust', '--list'])).stdout, /^No skill/)
  t.match(await skillet(home, ['remove', 'words', '--yes']), { status: 3, stderr: /there is no .*skills\/words/ })
  t.match(await skillet(home, ['remove', '../skillet', '--yes']), { status: 2 })
})

t.test('code runs after the yes only, and a skill that does not load is not installed', async t => {
  const { home, source, mark, names } = await placeOf(t)
  const code = join(source, 'skills', 'code')
  if (hasTerminals) {
    t.match(answerInTerminal(home, ['add', code], ['n']), /Nothing was changed/)
    t.notOk(await stat(mark).catch(() => undefined))
  }
  t.match(await skillet(home, ['add', code, '--yes']), { status: 0 })
  t.ok(await stat(mark))
  t.equal(await output(home, 'code:say'), 'code\n')
  await writeFile(join(code, 'skill.mjs'), 'export default 3')
  t.match(await skillet(home, ['add', code, '--as', 'broken', '--yes']), { status: 3, stderr: /broken/ })
  await symlink('/etc/passwd', join(source, 'skills', 'words', 'link'))
  t.match(await skillet(home, ['add', join(source, 'skills', 'words'), '--yes']), {
    status: 5, stderr: /its link link leads to \/etc\/passwd, outside of its folder/
  })
  await rm(join(source, 'skills'), { recursive: true })
  t.match(await skillet(home, ['add', source, '--yes']), {
    status: 2,
    stderr: /has no skill: no folder with skill\.toml/
  })
  t.match(await skillet(home, ['add', join(source, 'none'), '--yes']), {
    status: 2,
    stderr: /there is no .*none; name a folder/
  })
  t.same(await names(), ['code'])
})

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], { cwd, encoding: 'utf8' }).trim()

t.test('a git repository: the commit is pinned, and no hook runs', {
  skip: spawnSync('git', ['--version']).error !== undefined && 'needs git'
}, async t => {
  const { home, source, mark, lock } = await placeOf(t)
  git(source, 'init', '-q', '-b', 'main')
  git(source, 'add', '.')
  git(source, 'commit', '-qm', 'one')
  const first = git(source, 'rev-parse', 'HEAD')
  git(source, 'branch', 'stable')
  await writeFile(join(source, 'skills', 'words', 'skill.toml'), toml('two'))
  git(source, 'commit', '-qam', 'two')
  await writeFile(join(home.folder, '.gitconfig'), `[core]\n\thooksPath = ${join(home.folder, 'hooks')}\n`)
  await mkdir(join(home.folder, 'hooks'))
  await writeFile(join(home.folder, 'hooks', 'post-checkout'), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 })
  const stable = await skillet(home, ['add', `git+file://${source}#stable`, '--skill', 'words', '--yes', '--json'])
  t.match(JSON.parse(stable.stdout), { resolved: first, source: `git+file://${source}#stable` })
  t.equal(await output(home, 'words:say'), 'one\n')
  const newest = await skillet(home, ['add', `git+file://${source}`, '--skill', 'words', '--as', 'newest', '--yes'])
  t.equal(newest.status, 0, newest.stderr)
  t.equal(await output(home, 'newest:say'), 'two\n')
  t.notOk(await stat(mark).catch(() => undefined))
  t.match(await skillet(home, ['update', 'words']), { stdout: /up to date/ })
  git(source, 'branch', '-f', 'stable', 'main')
  t.match(await skillet(home, ['update', 'words', '--yes']), {
    stdout: new RegExp(`words is updated to ${git(source, 'rev-parse', 'main')}`)
  })
  t.match(await lock(), [{ name: 'newest' }, { name: 'words', resolved: git(source, 'rev-parse', 'main') }])
  t.match(await skillet(home, ['add', `git+file://${source}#none`, '--yes']), { status: 5, stderr: /git .*none/ })
  for (const bad of ['git+ext::sh -c touch', `git+file://${source}#-u`, 'git+--upload-pack=x']) {
    t.match(await skillet(home, ['add', bad, '--yes']), { status: 2 }, bad)
  }
})

t.test('a tarball, its address, and a package of npm', async t => {
  const { home, source, mark, names } = await placeOf(t)
  const file = join(home.folder, 'words-1.0.0.tgz')
  await writeFile(join(source, 'skills', 'words', 'package.json'), JSON.stringify({
    name: 'words', version: '1.0.0', scripts: { prepack: 'touch packed', install: 'touch installed' }
  }))
  await create({ file, gzip: true, cwd: join(source, 'skills', 'words'), prefix: 'package' }, ['.'])
  const bytes = await readFile(file)
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  const server = createServer((request, reply) => {
    const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    if (request.url === '/away.tgz') {
      return void reply.writeHead(302, { location: 'http://example.org/words.tgz' }).end()
    }
    if (request.url?.endsWith('.tgz') === true) return void reply.end(bytes)
    if (request.url !== '/words') return void reply.writeHead(404).end('{}')
    reply.setHeader('content-type', 'application/json').end(JSON.stringify({
      name: 'words', 'dist-tags': { latest: '1.0.0' },
      versions: {
        '1.0.0': { name: 'words', version: '1.0.0', dist: { tarball: `${here}/words-1.0.0.tgz`, integrity } }
      }
    }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => { server.close() })
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  home.env['npm_config_registry'] = address
  home.env['npm_config_cache'] = join(home.folder, 'npm')
  const sha256 = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  const add = async (from: string, name: string): Promise<unknown> => {
    const { stdout, stderr } = await skillet(home, ['add', from, '--as', name, '--yes', '--json'])
    t.equal(stderr, '')
    t.equal(await output(home, `${name}:say`), 'one\n')
    return (JSON.parse(stdout) as { resolved: unknown }).resolved
  }
  t.equal(await add(file, 'local'), sha256)
  t.equal(await add(`${address}/words-1.0.0.tgz`, 'fetched'), sha256)
  t.equal(await add('npm:words@1.0.0', 'package'), `1.0.0 ${integrity}`)
  t.same((await readdir(join(home.skills, 'package'))).sort(), ['package.json', 'skill.toml'], 'no script of it ran')
  t.match(await skillet(home, ['add', 'npm:nothing', '--yes']), { status: 5, stderr: /npm pack failed/ })
  t.match(await skillet(home, ['add', 'http://example.org/a.tgz', '--yes']), { status: 2, stderr: /use https/ })
  t.match(await skillet(home, ['add', 'npm:--help', '--yes']), { status: 2 })
  t.match(await skillet(home, ['add', `${address}/away.tgz`, '--yes']), {
    status: 5,
    stderr: /example\.org.* use https/
  })
  await writeFile(join(home.folder, 'bad.tgz'), bytes.subarray(0, bytes.length / 2))
  t.match(await skillet(home, ['add', join(home.folder, 'bad.tgz'), '--yes']), {
    status: 5,
    stderr: /can't be unpacked/
  })
  // A program that npm would start for a package of a repository, if it read the skill's own settings.
  const hostile = join(home.folder, 'hostile')
  await mkdir(hostile)
  await writeFile(join(hostile, 'skill.toml'), toml('x'))
  await writeFile(join(hostile, '.npmrc'), `git=${join(hostile, 'git.sh')}\n`)
  await writeFile(join(hostile, 'git.sh'), `#!/bin/sh\ntouch ${mark}\nexit 1\n`, { mode: 0o755 })
  await writeFile(join(hostile, 'package.json'), '{ "dependencies": { "q": "git+ssh://git@127.0.0.1:1/q.git" } }')
  t.match(await skillet(home, ['add', hostile, '--yes']), { status: 5, stderr: /wants q from .*not the npm registry/ })
  await writeFile(join(hostile, 'package.json'), '{ "dependencies": { "words": "^1.0.0" } }')
  t.match(await skillet(home, ['add', hostile, '--yes']), { status: 0 })
  t.ok(await stat(join(home.skills, 'hostile', 'node_modules', 'words', 'skill.toml')))
  t.notOk(await stat(mark).catch(() => undefined))
  t.same(await names(), ['fetched', 'hostile', 'local', 'package'], 'and nothing is left of what failed')
})
