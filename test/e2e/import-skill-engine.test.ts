import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { execute, makeHome, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

t.setTimeout(280_000)

const sample = fileURLToPath(new URL('../../../test/fixtures/skill-engine/workspace/', import.meta.url))

t.test('a folder of the Skill Engine is shown, copied and served, instances included', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const env = { SAMPLE_OWNER: 'me' }
  const source = join(home.folder, 'Work Space')
  await cp(sample, source, { recursive: true })
  const server = await startServer(home, [], { env })
  t.teardown(server.kill)
  const target = join(home.env['XDG_CONFIG_HOME'] ?? '', 'skillet', 'skill-engine', 'work-space')

  const unasked = await skillet(home, ['import', 'skill-engine', source], { env })
  t.equal(unasked.status, 2, unasked.stderr)
  t.match(unasked.stdout, /greeter +from \.\/greeter; instances quiet, loud, sealed/)
  t.match(unasked.stdout, /shrink +runs docker/)
  t.notOk(existsSync(target), 'nothing is copied without a yes')

  const imported = await skillet(home, ['import', 'skill-engine', source, '--yes'], { env })
  t.equal(imported.status, 0, imported.stderr)
  t.match(imported.stdout, /greeter +\d+ tools?; instances greeter@quiet \(default\), greeter@loud, greeter@sealed/)
  t.match(imported.stdout, /does not serve/, 'what is broken is named')
  const run = await skillet(home, ['info', 'greeter', '--json'], { env })
  const { tools } = JSON.parse(run.stdout) as { tools: { name: string }[] }
  t.ok(tools.length > 0)
  await until(async () => (await fetch(`${server.url}/api/skills/greeter`)).status === 200)
  const answer = await execute(server.url, 'greeter@sealed', tools[0]?.name ?? '')
  t.match(JSON.stringify(answer.body), /ask the owner for it|parameters/, 'a running server serves it')

  const again = await skillet(home, ['import', 'skill-engine', source, '--yes'], { env })
  t.match(again.stderr, /is there already/)
  const other = await skillet(home, ['import', 'skill-engine', source, '--yes', '--as', 'other', '--json'], { env })
  t.match(JSON.parse(other.stdout), { folder: join(target, '..', 'other') })
})

t.test('what can\'t be imported is refused, and leaves nothing behind', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const leaving = join(home.folder, 'leaving')
  await mkdir(leaving)
  await writeFile(join(leaving, 'skill.js'), 'export const getTools = () => []; export const executeTool = () => ""')
  await symlink('/etc/passwd', join(leaving, 'secret'))
  for (const [args, why] of [
    [[leaving], /secret leads to \/etc\/passwd/], [[join(home.folder, 'nowhere')], /no folder/],
    [[join(leaving, 'skill.js')], /no folder/], [[leaving, '--as', '../up'], /can't be the name/]
  ] as const) {
    const { status, stderr } = await skillet(home, ['import', 'skill-engine', ...args, '--yes'])
    t.not(status, 0)
    t.match(stderr, why)
  }
  t.same(await readdir(join(home.env['XDG_CONFIG_HOME'] ?? '', 'skillet', 'skill-engine')), [])
})
