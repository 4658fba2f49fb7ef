import { spawnSync } from 'node:child_process'
import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { execute, makeHome, request, skillet, startServer, type Home } from '../support/program.ts'
import { answerInTerminal, hasTerminals } from '../support/pty.ts'

const toml = (command: string): string =>
  `description = "Demo"\n[[tools]]\nname = "say"\ndescription = "Say"\ncommand = ["echo", "${command}"]\n`
const js = (says: string): string =>
  `export default { description: 'Code', tools: { say: { description: 'Say', run: () => '${says}' } } }\n`

async function homeOf (t: Test): Promise<Home> {
  const home = await makeHome({ confined: true })
  t.teardown(() => home.remove())
  home.env['SKILLET_SKILLS_BUNDLED'] = 'false'
  await mkdir(join(home.skills, 'demo'), { recursive: true })
  await writeFile(join(home.skills, 'demo', 'skill.toml'), toml('one'))
  await mkdir(join(home.skills, 'code'))
  await writeFile(join(home.skills, 'code', 'skill.js'), js('one'))
  return home
}

t.test('a skill is trusted by its content, and says so when it changes while a server runs', async t => {
  const home = await homeOf(t)
  const server = await startServer(home)
  t.teardown(() => server.kill())
  const health = async (): Promise<string> =>
    JSON.stringify((await request(server.url, '/api/health')).body['warnings'])
  const refused = await skillet(home, ['trust', 'code'])
  t.equal(refused.status, 2)
  t.match(refused.stdout, /code .*skills\/code\n1 file, \d+ bytes, SHA-256 [0-9a-f]{64}\n {2}skill\.js +\d+ bytes\n\ncode — Code\nPermissions: no network\n {2}code:say +Say\n/)
  t.match(refused.stderr, /nobody can be asked.*add --yes/)
  t.match((await skillet(home, ['trust', '--list'])).stdout, /^No skill is trusted by its content/)

  const trusted = await skillet(home, ['trust', 'code', '--yes', '--json'])
  t.equal(trusted.status, 0, trusted.stderr)
  const { hash, at } = JSON.parse(trusted.stdout) as Record<string, unknown>
  t.match(JSON.parse(trusted.stdout), { name: 'code', path: /code$/, files: 1, changes: [], by: /./ })
  const file = join(home.folder, 'config', 'skillet', 'trust.json')
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const listed = await skillet(home, ['trust', '--list', '--json'])
  t.match(JSON.parse(listed.stdout), { file, skills: [{ name: 'code', state: 'trusted', hash, at }] })
  t.match((await skillet(home, ['trust', 'code', '--yes'])).stdout, /is trusted already: since /)
  t.match((await execute(server.url, 'code', 'say')).body, { status: 'success', output: 'one' })
  t.equal(await health(), '[]')

  await writeFile(join(home.skills, 'code', 'skill.js'), js('two'))
  await until(async () => (await health()).includes(
    'it changed since it was trusted: file skill.js changed; look at it and run: skillet trust code'
  ))
  await until(async () => (await execute(server.url, 'code', 'say')).body['output'] === 'two') // it serves, untrusted
  t.match(
    (await skillet(home, ['list'])).stdout,
    /not trusted +it changed since it was trusted: file skill\.js changed/
  )
  const doctor = await skillet(home, ['doctor', '--json'])
  t.match(JSON.parse(doctor.stdout).findings.find(({ about }: { about: string }) => about === 'skill code'), {
    level: 'note',
    text: /run: skillet trust code/
  })
  const directory = await skillet(home, ['doctor', '--json', '--trust', home.skills])
  t.match(JSON.parse(directory.stdout).findings.find(({ about }: { about: string }) => about === 'skills.trusted'), {
    level: 'note',
    text: `${home.skills}: every skill in this directory is trusted, whatever it holds`
  })
  t.match((await skillet(home, ['trust', '--list'])).stdout, /^code +changed /)
  await writeFile(join(home.skills, 'code', 'more.txt'), 'a\u001b[31m word\n')
  const shown = await skillet(home, ['trust', 'code'])
  t.equal(shown.status, 2)
  t.match(shown.stdout, `--- trusted/skill.js
+++ now/skill.js
@@ -1,1 +1,1 @@
-${js('one')}+${js('two')}`, 'the changed lines')
  t.match(shown.stdout, '--- /dev/null\n+++ now/more.txt\n@@ -0,0 +1,1 @@\n+a word\n', 'without control sequences')
  await rm(join(home.skills, 'code', 'more.txt'))
  const answered = JSON.parse((await skillet(home, ['trust', 'code', '--yes', '--json'])).stdout) as unknown
  t.match(answered, {
    changes: [{ what: 'file skill.js changed' }], diffs: [{ path: 'skill.js', diff: /^\+export default/m }]
  })
  const kept = join(home.folder, 'config', 'skillet', 'trusted-texts')
  t.equal((await readdir(kept)).length, 1, 'texts of a content that is trusted no more are removed')
  const [text = ''] = await readdir(kept)
  t.equal((await stat(join(kept, text))).mode & 0o777, 0o600)
  await writeFile(join(kept, text), 'damaged')
  await writeFile(join(home.skills, 'code', 'skill.js'), js('three'))
  t.match(
    (await skillet(home, ['trust', 'code', '--yes'])).stdout,
    /Changed since .*:\n {2}file skill\.js changed\nThe skill "code" is trusted, until one of its files changes\.\n$/
  )
  await until(async () => await health() === '[]')
  await chmod(file, 0o666)
  await until(async () =>
    JSON.stringify((await request(server.url, '/api/health')).body['quarantined']).includes('other users can write to'))
  t.match(
    (await skillet(home, ['trust', 'demo', '--yes'])).stderr,
    /other users can write to .*trust\.json; run: chmod go-w/
  )
  await chmod(file, 0o600)
  t.match((await skillet(home, ['untrust', 'code'])).stdout, /is not trusted any more/)
  t.equal((await skillet(home, ['untrust', 'code'])).status, 3)
  t.same(await readdir(kept), [])
})

t.test('with the lock, a changed skill is kept from serving until it is trusted again', async t => {
  const home = await homeOf(t)
  home.env['SKILLET_SKILLS_LOCKED'] = 'true'
  for (const name of ['demo', 'code']) t.equal((await skillet(home, ['trust', name, '--yes'])).status, 0)
  const server = await startServer(home)
  t.teardown(() => server.kill())
  t.match((await execute(server.url, 'demo', 'say')).body, { status: 'success' })
  await writeFile(join(home.skills, 'demo', 'skill.toml'), toml('two').replace('"say"', '"tell"'))
  await until(async () => (await execute(server.url, 'demo', 'say')).status === 404)
  const { body } = await execute(server.url, 'demo', 'tell')
  t.match(body, { error: {
    code: 'SKILL_NOT_FOUND',
    message: /it could not be loaded: tool say removed, tool tell added; it changed since it was trusted: file skill\.toml changed; look at it and run: skillet trust demo/
  } })
  t.match((await request(server.url, '/api/health')).body, { quarantined: [{ name: 'demo', trust: 'changed' }] })
  t.match((await skillet(home, ['list'])).stdout, /demo does not serve: tool say removed, tool tell added/)
  t.equal((await skillet(home, ['run', 'demo:tell'])).status, 3)
  const again = await skillet(home, ['trust', 'demo', '--yes'])
  t.match(again.stdout, /Changed since .*:\n {2}tool say removed\n {2}tool tell added\n {2}file skill\.toml changed\n/)
  await until(async () => (await execute(server.url, 'demo', 'tell')).body['output'] === 'two\n')
  await appendFile(join(home.skills, 'code', 'skill.js'), '// more')
  await until(async () => (await execute(server.url, 'code', 'say')).status === 404)
  await writeFile(join(home.skills, 'code', 'skill.js'), js('one'))
  // Its content is the trusted one again.
  await until(async () => (await execute(server.url, 'code', 'say')).body['output'] === 'one')
})

t.test('a skill that can\'t be trusted by its content is refused, and no record stays', async t => {
  const home = await homeOf(t)
  await writeFile(join(home.skills, 'shared.js'), 'export const word = \'one\'\n')
  await writeFile(
    join(home.skills, 'code', 'skill.js'),
    `import { word } from '../shared.js'\nexport default { description: word, tools: { say: { description: 'Say', run: () => word } } }\n`
  )
  const outside = await skillet(home, ['trust', 'code', '--yes'])
  t.equal(outside.status, 5)
  t.match(outside.stderr, /can't be trusted by its content: .*shared\.js, which is outside of its folder/)
  t.match((await skillet(home, ['trust', '--list'])).stdout, /^No skill/)
  spawnSync('mkfifo', [join(home.skills, 'demo', 'pipe')])
  t.match((await skillet(home, ['trust', 'demo', '--yes'])).stderr, /demo\/pipe is a FIFO/)
  t.match((await skillet(home, ['trust', 'nothing', '--yes'])).stderr, /There is no skill "nothing"/)
  t.match((await skillet(home, ['trust'])).stderr, /name the skill: skillet trust NAME/)
})

t.test('on a terminal it asks, and before it runs a module that the lock keeps from serving', {
  skip: hasTerminals ? false : 'no terminals here'
}, async t => {
  const home = await homeOf(t)
  home.env['SKILLET_SKILLS_LOCKED'] = 'true'
  const ran = join(home.folder, 'ran')
  await writeFile(
    join(home.skills, 'code', 'skill.js'),
    `import { appendFileSync } from 'node:fs'\nappendFileSync(${JSON.stringify(ran)}, 'x')\n${js('one')}`
  )
  t.match(
    answerInTerminal(home, ['trust', 'code'], ['no']),
    /Run it now\? \[y\/N\] [\s\S]*Nothing was changed\./
  )
  await t.rejects(stat(ran), { code: 'ENOENT' }, 'its module was not run')
  t.match(
    answerInTerminal(home, ['trust', 'code'], ['y', 'y', 'n']),
    /code:say[\s\S]*Trust the skill code with this content\? \[y\/N\] [\s\S]*Nothing was changed\./
  )
  await readFile(ran)
  t.match(answerInTerminal(home, ['trust', 'code'], ['y', 'y', 'y']), /is trusted, until one of its files changes/)
  t.match((await skillet(home, ['run', 'code:say'])).stdout, 'one')
})
