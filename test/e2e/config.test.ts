import { mkdirSync, renameSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'smol-toml'
import t from 'tap'
import { completeConfig } from '../../kernel/index.ts'
import { builtinSchema } from '../support/config.ts'
import { makeHome, request, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const dist = new URL('../../', import.meta.url)
const home = await makeHome()
t.teardown(home.remove)
const validator = (name: string): ReturnType<Ajv2020['compile']> => new Ajv2020({ strict: false, formats: {} }).compile(
  JSON.parse(readFileSync(new URL(`schemas/${name}.schema.json`, dist), 'utf8')) as object
)
const path = join(home.folder, 'config', 'skillet', 'skillet.toml')

t.test('config init writes every setting, at its default, and never over a file', async t => {
  t.match(await skillet(home, ['config', 'init']), { status: 0, stdout: `${path}\n` })
  t.equal(statSync(path).mode & 0o777, 0o600)
  const text = readFileSync(path, 'utf8')
  t.ok(statSync(/^#:schema (.*)$/m.exec(text)?.[1] ?? '').isFile(), 'editors find the schema')
  t.match(await skillet(home, ['config', 'init', '--json']), {
    status: 5,
    stderr: /"code":"CONFLICT".*is there already/
  })
  t.equal(readFileSync(path, 'utf8'), text)
  const uncommented = text.replaceAll(/^# (\w+ = )/gm, '$1').split('# A skill\'s own settings')[0] ?? ''
  t.same(completeConfig(parse(uncommented), builtinSchema), completeConfig({}, builtinSchema))
  for (const { path } of builtinSchema.settings) {
    t.match(uncommented, new RegExp(`^${path.at(-1)} = `, 'm'), path.join('.'))
  }
  const check = validator('skillet')
  for (const written of [text, uncommented]) t.ok(check(parse(written)), JSON.stringify(check.errors))
  t.notOk(check({ server: { prot: 1 } }))
  t.notOk(check({ server: { port: 'x' } }))
})

t.test('config shows where each value is from, and no secrets; config check says what is wrong', async t => {
  writeFileSync(path, '[server]\nport = 4000\n[server.keys.ci]\nhash = "sha256:'
    + 'a'.repeat(64)
    + '"\n[skills.config.http]\nallow = ["10.0.0.1"]\ntoken = "confidential"\n')
  writeFileSync(
    join(home.folder, 'config', 'skillet', '.env'),
    'SKILLET_STORAGE_DURABILITY=deferred\nSERVICE_API_KEY=confidential\n',
    { mode: 0o600 }
  )
  const shown = await skillet(home, ['config', '--log-level', 'warn'])
  t.match(shown, { status: 0, stderr: '' })
  for (const line of [
    /server\.port +4000 +.*skillet\.toml/,
    /storage\.durability +"deferred" +.*\.env/,
    /log_level +"warn" +--log-level/,
    /server\.rate_limit_per_hour +0 +SKILLET_SERVER_RATE_LIMIT_PER_HOUR/,
    /skills\.config\.http +allow, token/,
    /server\.keys\.ci/
  ]) {
    t.match(shown.stdout, line)
  }
  const json = await skillet(home, ['config', 'show', '--json'])
  t.match(JSON.parse(json.stdout), { file: path, tables: { 'skills.config.http': ['allow', 'token'] } })
  t.notMatch(shown.stdout + json.stdout, /confidential|aaaa/)
  t.match(await skillet(home, ['config', 'check']), { status: 0, stdout: /skillet\.toml is in order/ })
  writeFileSync(join(home.folder, 'wrong.toml'), '[server]\nprot = 1\n')
  t.match(
    await skillet(home, ['config', 'check', '--config', 'wrong.toml']),
    { status: 2, stdout: '', stderr: /wrong\.toml: server has an unknown field "prot"; did you mean "port"/ }
  )
})

t.test('config check looks at options of plugins, and at folders, and names all faults, a line each', async t => {
  const file = join(home.folder, 'faults.toml')
  writeFileSync(join(home.folder, 'loud.mjs'), 'export default { name: "loud", api: 1, slot: "skills", setup: () => ({ load: async () => ({ skills: [], quarantined: [] }) }) }')
  mkdirSync(join(home.folder, 'there'))
  writeFileSync(file, [
    'plugins = ["./loud.mjs"]', '[skills]', 'directories = ["./there", "./nowhere"]', 'trusted = ["./loud.mjs"]',
    '[search]', 'model = "./no-model"',
    '[plugin.http]', 'engine = "uws"', '[plugin.htp]', 'engine = "uws"', '[plugin.loud]', 'volume = 11'
  ].join('\n'))
  const { status, stdout, stderr } = await skillet(home, [
    'config', 'check', '--config', file, '--data-dir', 'loud.mjs'
  ])
  t.match({ status, stdout }, { status: 2, stdout: '' })
  t.same(stderr.replace(/^error: /, '').trimEnd().split('\n').toSorted(), [
    `--data-dir: data_dir: ${home.folder}/loud.mjs is not a directory`,
    `${file}: plugin.htp: there is no plugin of this name; did you mean "http"?`,
    `${file}: plugin.loud has settings, but the plugin takes none`,
    `${file}: search.model: ${home.folder}/no-model is not there`,
    `${file}: skills.directories: ${home.folder}/nowhere is not there`,
    `${file}: skills.trusted: ${home.folder}/loud.mjs is not a directory`
  ].toSorted())
  const json = await skillet(home, ['config', 'check', '--config', file, '--json'])
  t.match(JSON.parse(json.stderr), {
    error: { code: 'INVALID_PARAMETERS', details: { faults: Array } },
    success: false
  })
})

t.test('every table with a wrong setting is named at once', async t => {
  const file = join(home.folder, 'tables.toml')
  writeFileSync(file, 'sever = 1\n[execution]\ntimeout_ms = "x"\n[plugin.executor-worker]\nidle_m = 5\n[plugin.http]\nengine = "fast"\n')
  const { status, stderr } = await skillet(home, ['config', 'check', '--config', file])
  t.equal(status, 2)
  t.same(stderr.replace(/^error: /, '').trimEnd().split('\n'), [
    `configuration ${file} has an unknown field "sever"; did you mean "server"?`,
    `configuration ${file}: plugin.http.engine must be one of "auto", "uws", "node"`,
    `configuration ${file}: plugin.executor-worker has an unknown field "idle_m"; did you mean "idle_ms"?`,
    `configuration ${file}: execution.timeout_ms must be integer`
  ])
})

t.test('the settings of a further plugin have flags, variables, a schema and a place in the file, as all others', async t => {
  const file = join(home.folder, 'clock.toml')
  writeFileSync(join(home.folder, 'clock.mjs'), `
    const { definePlugin, defineSection, Type } = await import(${JSON.stringify(new URL('kernel/plugin.js', dist).href)})
    const clock = defineSection('clock', 'The clock', { color: Type.String({ default: 'red', description: 'The color of its hands' }) })
    export default definePlugin({
      name: 'wall-clock', slot: 'skills', sections: [clock],
      options: Type.Object({ zone: Type.String({ default: 'UTC', description: 'The time zone' }) }, { additionalProperties: false }),
      setup: ({ config }, { zone }) => ({ load: async () => ({ skills: [], quarantined: [], warnings: [{ name: zone, path: '/', warning: clock.of(config).color }] }) })
    })`)
  writeFileSync(file, 'plugins = ["./clock.mjs"]\n[plugin.wall-clock]\nzone = "CET"\n')
  const ask = async (...args: string[]): Promise<Awaited<ReturnType<typeof skillet>>> => await skillet(home, args)
  const shown = await ask('config', '--config', file, '--clock-color', 'blue')
  t.match(shown.stdout, /clock\.color +"blue" +--clock-color\n[^]*plugin\.wall-clock\.zone +"CET" +.*clock\.toml/)
  t.match(
    (await ask('config', '--plugins', './clock.mjs', '--plugin-wall-clock-zone=EST')).stdout,
    /plugin\.wall-clock\.zone +"EST" +--plugin-wall-clock-zone/
  )
  const env = {
    ...home.env, SKILLET_PLUGINS: './clock.mjs', SKILLET_PLUGIN_WALL_CLOCK_ZONE: 'MST', SKILLET_CLOCK_COLOR: 'green'
  }
  t.match(
    (await skillet({ ...home, env }, ['config'])).stdout,
    /clock\.color +"green" +SKILLET_CLOCK_COLOR\n[^]*zone +"MST" +SKILLET_PLUGIN_WALL_CLOCK_ZONE/
  )
  t.match((await skillet({ ...home, env }, ['doctor'])).stdout, /MST.*green|green.*MST/)
  t.match(await skillet({ ...home, env: { ...env, SKILLET_PLUGIN_WALL_CLOCK_ZON: '1' } }, ['list']), {
    status: 2,
    stderr: /did you mean "SKILLET_PLUGIN_WALL_CLOCK_ZONE"/
  })
  t.match(JSON.parse((await ask('config', 'schema', '--config', file)).stdout), {
    properties: {
      clock: { properties: { color: { default: 'red' } } },
      plugin: { properties: { 'wall-clock': { properties: { zone: { type: 'string' } } } } }
    }
  })
  t.match(await ask('list', '--config', file, '--clock-color', '5', '--plugin-wall-clock-zon', 'x'), {
    status: 2,
    stderr: /unknown option '--plugin-wall-clock-zon'/
  })
  writeFileSync(join(home.folder, 'clock.mjs'), 'throw new Error("it is broken")')
  t.match(await ask('list', '--config', file, '--clock-color', 'x'), {
    status: 2,
    stderr: /unknown option '--clock-color'[^]*clock\.mjs" can't be loaded: it is broken/
  })
})

t.test('a broken file is told of once, and two plugins that declare one setting are named', async t => {
  const broken = join(home.folder, 'broken.toml')
  writeFileSync(broken, '[server\n')
  const { status, stderr } = await skillet(home, ['list', '--config', broken])
  t.equal(status, 2)
  t.equal(stderr.trimEnd().split('\n').length, 1, stderr)
  const plugin = (name: string): string => `
    const { definePlugin, defineSection, Type } = await import(${JSON.stringify(new URL('kernel/plugin.js', dist).href)})
    const hall = defineSection('hall', 'The hall', { door: Type.String({ default: '', description: 'Its door' }) })
    export default definePlugin({
      name: '${name}', slot: 'skills', sections: [hall], setup: () => ({ load: async () => ({ skills: [], quarantined: [] }) })
    })`
  for (const name of ['first', 'second']) writeFileSync(join(home.folder, `${name}.mjs`), plugin(name))
  const both = await skillet(home, ['list', '--plugins', './first.mjs', '--plugins', './second.mjs'])
  t.match(both, { status: 2, stderr: /two plugins declare the setting "hall\.door"/ })
})

t.test('the server tells of its configuration file when that changed, and not before', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const server = await startServer(home)
  t.teardown(server.kill)
  const folder = join(home.folder, 'config', 'skillet')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'new.toml'), `[server.keys.ci]\nhash = "sha256:${'a'.repeat(64)}"\n`)
  renameSync(join(folder, 'new.toml'), join(folder, 'skillet.toml'))
  const told = (): string[] =>
    server.stderr().split('\n').filter(line => line.includes('the configuration file changed'))
  await until(() => told().some(line => line.includes('"keys":1')))
  t.equal(told().length, 1, 'that there is no file yet was told of as no change')
})

t.test('the key in .env opens the server, and no tool sees it', async t => {
  const folder = join(home.skills, 'env')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'skill.toml'), 'description = "Print the environment"\n[permissions]\nenv = ["SERVICE_API_KEY", "SKILLET_STORAGE_DURABILITY"]\n[[tools]]\nname = "print"\ndescription = "Print the environment"\ncommand = ["env"]\nenv = { OWN = "set" }\n')
  const server = await startServer(home, ['--auth-required'])
  t.teardown(server.kill)
  t.equal((await request(server.url, '/api/skills')).status, 401)
  const { status, body } = await request(server.url, '/api/execute', undefined, {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer confidential' },
    body: JSON.stringify({ skill_name: 'env', tool_name: 'print', parameters: {} })
  })
  t.equal(status, 200)
  t.match(body['output'], /^OWN=set$/m)
  t.notMatch(body['output'], /confidential|DURABILITY/)
})

t.test('the schema of skill.toml takes every bundled manifest, and refuses what the program refuses', async t => {
  const check = validator('skill')
  const folder = new URL('skills/', dist)
  const manifests = readdirSync(folder).flatMap(name => {
    try {
      return [[name, readFileSync(new URL(`${name}/skill.toml`, folder), 'utf8')] as const]
    } catch {
      return [] // shared/ is no skill
    }
  })
  t.ok(manifests.length >= 10)
  for (const [name, text] of manifests) t.ok(check(parse(text)), `${name}: ${JSON.stringify(check.errors)}`)
  for (const wrong of [
    { runtime: 'other' },
    { tools: [{ name: 'x' }] },
    { tols: [] },
    { permissions: { netwrk: true } },
    { tools: [{ name: 'x', description: 'x', command: ['x', []] }] },
    { tools: [{ name: 'x', description: 'x', command: ['x'], env: { 'a b': 'x' } }] }
  ]) {
    t.notOk(check(wrong), JSON.stringify(wrong))
  }
})
