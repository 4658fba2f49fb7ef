import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { fakeEngine } from '../support/containers.ts'
import { openPodman } from '../support/podman.ts'
import { execute, makeHome, request, skillet, startServer, type Home } from '../support/program.ts'

t.setTimeout(280_000)

async function addSkill (home: Home, name: string, text: string): Promise<void> {
  await mkdir(join(home.skills, name), { recursive: true })
  await writeFile(join(home.skills, name, 'skill.toml'), text)
}

const skillOf = (image: string, more = ''): string => `
description = "Speak in a box"
runtime = "container"
[container]
image = "${image}"
[permissions]
secrets = []
${more}
[[tools]]
name = "say"
description = "Say a text"
command = ["printf", "%s", "{{text}}"]
[[tools.parameters]]
name = "text"
type = "string"
description = "The text"
required = true
[[tools]]
name = "hang"
description = "Never end"
command = ["sh", "-c", "while :; do sleep 60; done"]
`

const settings = (options: object): string => `[plugin.executor-container]\n${
  Object.entries(options).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join('')}`

t.test('a skill of a container is run and recorded; broken ones are named; doctor says what is missing', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const engine = await fakeEngine(t)
  await writeFile(join(home.folder, 'skillet.toml'), settings({ engine: engine.file }))
  await addSkill(home, 'box', skillOf('box:1'))
  await addSkill(home, 'absent', skillOf('missing:1'))
  await addSkill(home, 'bare', skillOf('box:1').replace(/\[container\]\nimage.*\n/, ''))
  await addSkill(home, 'option', skillOf('--privileged'))
  await addSkill(home, 'listed', skillOf('box:1', 'network = ["a.example"]'))
  await addSkill(home, 'odd', skillOf('box:1').replace('secrets = []', 'secrets = ["DOCKER_HOST"]'))
  await addSkill(home, 'relative', skillOf('box:1', 'read = ["notes"]'))
  await addSkill(home, 'native', skillOf('box:1').replace('"container"', '"native"'))
  const server = await startServer(home)
  t.teardown(() => server.stop())
  const done = await execute(server.url, 'box', 'say', { text: '$(id) -v /:/x' })
  t.match(done, { status: 200, body: { output: '$(id) -v /:/x' } })
  const { executions } = (await request(server.url, '/api/executions')).body as { executions: { id: string }[] }
  const record = await request(server.url, `/api/executions/${executions[0]?.id}`)
  t.match(JSON.stringify(record.body), /"isolation":"container"/)
  t.match(await execute(server.url, 'absent', 'say', { text: '' }), {
    status: 422, body: { error: { message: /missing:1 is not on this machine; pull it/ } }
  })
  const health = await request(server.url, '/api/health')
  t.match(health.body, { status: 'healthy' })
  const doctor = await skillet(home, ['doctor'])
  for (const text of [
    /bare.*needs a table \[container\]/, /option.*image/, /listed.*true or false/, /odd.*DOCKER_HOST/,
    /relative.*"notes" must be absolute/, /native.*needs runtime = "container"/, /image missing:1/,
    /docker pull missing:1/
  ]) t.match(doctor.stdout.replaceAll(/\s+/g, ' '), text)
})

t.test('an engine that is missing is said by doctor and by the call, and makes nothing unhealthy', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  await writeFile(join(home.folder, 'skillet.toml'), settings({ engine: 'no-such-engine' }))
  await addSkill(home, 'box', skillOf('box:1'))
  const server = await startServer(home)
  t.teardown(() => server.stop())
  t.match((await request(server.url, '/api/health')).body, { status: 'healthy' })
  t.match(await execute(server.url, 'box', 'say', { text: '' }), {
    status: 422,
    body: { error: { message: /engine "no-such-engine" was not found; correct plugin.executor-container.engine/ } }
  })
  t.match((await skillet(home, ['doctor'])).stdout, /no-such-engine/)
})

const podman = await openPodman()
const skip = typeof podman === 'string' ? podman : false
if (typeof podman === 'object') t.teardown(podman.remove)

t.test('a server that was killed leaves a real container, which the next start removes', { skip }, async t => {
  if (typeof podman === 'string') return
  const home = await makeHome()
  t.teardown(home.remove)
  await writeFile(join(home.folder, 'skillet.toml'), settings(podman.options))
  await addSkill(home, 'box', skillOf(podman.image))
  const server = await startServer(home)
  t.match(await execute(server.url, 'box', 'say', { text: 'from a box' }), { body: { output: 'from a box' } })
  const hanging = execute(server.url, 'box', 'hang', {}).catch(() => {})
  await until(async () => (await podman.containers()).length === 1)
  await server.kill()
  await hanging
  const [left] = await podman.containers()
  t.type(left, 'string', 'its container outlives it')
  const next = await startServer(home)
  t.teardown(() => next.stop())
  await until(async () => (await podman.containers()).length === 0)
  const second = execute(next.url, 'box', 'hang', {}).catch(() => {})
  await until(async () => (await podman.containers()).length === 1)
  await next.stop()
  await second
  t.same(await podman.containers(), [], 'one that is stopped leaves none')
})
