import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import t from 'tap'
import { checkGiven, checkWhole } from '../../../kernel/schema/check-given.ts'
import { configHome, dataHome } from '../../../kernel/boot/config-files.ts'
import { completeConfig, loadConfig } from '../../../kernel/boot/config-load.ts'
import { serverSection } from '../../../plugins/http/settings.ts'
import { skillsSection } from '../../../plugins/skills-directory/settings.ts'
import { builtinSchema } from '../../support/config.ts'

const { settings, schema: whole } = builtinSchema

const folder = (): string => mkdtempSync(join(tmpdir(), 'skillet-config-'))
const load = (over: Partial<Parameters<typeof loadConfig>[0]> = {}): ReturnType<typeof loadConfig> =>
  loadConfig({ flags: {}, env: { XDG_CONFIG_HOME: '/nonexistent' }, cwd: '/nonexistent', ...over }, builtinSchema)

t.test('without sources, everything has its default, and nothing can be changed', async t => {
  const config = load()
  const server = serverSection.of(config)
  t.equal(server.port, 3000)
  t.equal(server.host, '127.0.0.1')
  t.equal(config.storage.durability, 'committed')
  t.equal(config.execution.timeout_ms, 30_000)
  t.same(skillsSection.of(config).directories, [])
  t.throws(() => { (server as { port: number }).port = 1 }, TypeError)
})

t.test('a flag is stronger than a variable, a variable than the file', async t => {
  const cwd = folder()
  writeFileSync(
    join(cwd, 'skillet.toml'),
    '[server]\nport = 1\nhost = "::1"\nbody_bytes_max = 2048\n[skills]\ndirectories = ["mine", "/abs", "~/home"]\n'
  )
  const env = { SKILLET_SERVER_PORT: '2', SKILLET_SERVER_HOST: 'localhost' }
  const config = load({ cwd, env, flags: { 'server.port': 3, 'skills.directories': ['more'] } })
  const server = serverSection.of(config)
  const { directories } = skillsSection.of(config)
  t.equal(server.port, 3)
  t.equal(server.host, 'localhost')
  t.equal(server.body_bytes_max, 2048)
  t.same(directories.slice(0, 2), [join(cwd, 'mine'), '/abs'], 'paths of the file are read from its folder')
  t.equal(directories[3], join(cwd, 'more'), 'a list flag adds')
  t.notMatch(directories[2], '~')
})

t.test('the file is looked for in the working directory, then in the user\'s configuration directory', async t => {
  const home = folder()
  const env = { XDG_CONFIG_HOME: home }
  mkdirSync(join(home, 'skillet'))
  writeFileSync(join(home, 'skillet', 'skillet.toml'), 'log_level = "debug"')
  t.equal(load({ env }).log_level, 'debug')
  const cwd = folder()
  writeFileSync(join(cwd, 'skillet.toml'), 'log_level = "error"')
  t.equal(load({ env, cwd }).log_level, 'error')
  t.equal(load({ env, cwd, file: join(home, 'skillet', 'skillet.toml') }).log_level, 'debug')
  t.equal(configHome({ XDG_CONFIG_HOME: 'relative', HOME: '/x' }), configHome({}), 'a relative XDG path is ignored')
  t.equal(dataHome({ XDG_DATA_HOME: '/data' }), '/data/skillet')
})

t.test('every setting has a type, a description and a default, and can be given by variable', async t => {
  for (const { path, variable, schema } of settings) {
    t.type(schema.description, 'string', path.join('.'))
    t.not(schema.default, undefined, path.join('.'))
    const text = Array.isArray(schema.default) ? 'a,b' : String(schema.default)
    t.doesNotThrow(() => load({ env: { [variable]: text } }), variable)
  }
})

t.test('what is wrong is named, with where it stands and the nearest known name', async t => {
  const cwd = folder()
  const file = join(cwd, 'skillet.toml')
  const refused = (text: string, why: RegExp): void => {
    writeFileSync(file, text)
    t.throws(() => load({ cwd }), { message: why }, text)
  }
  refused('[server]\nprot = 1', /skillet\.toml: server has an unknown field "prot"; did you mean "port"/)
  refused('[sever]\nport = 1', /unknown field "sever"; did you mean "server"/)
  refused('[server]\nport = "x"', /server\.port must be integer/)
  refused('[server]\nport = 70000', /server\.port must be <= 65535/)
  refused('[storage]\ndurability = "maybe"', /storage\.durability must be one of "committed", "deferred"/)
  refused('[server\nport = 1', /skillet\.toml:1:\d+ is not valid TOML/)
  refused('[execution]\ntimeout_ms = 700000', /timeout_ms must not be more than execution\.timeout_ms_max/)
  t.throws(() => load({ file: join(cwd, 'absent.toml') }), /absent\.toml can't be read/)
  t.throws(
    () => load({ env: { SKILLET_SERVER_PROT: '1' } }),
    /SKILLET_SERVER_PROT is no setting; did you mean "SKILLET_SERVER_PORT"/
  )
  t.throws(
    () => load({ env: { SKILLET_MCP_EXPOSED: 'git' } }),
    /SKILLET_MCP_EXPOSED is no setting; did you mean "SKILLET_MCP_EXPOSE"/
  )
  t.throws(() => load({ env: { SKILLET_SERVER_PORT: 'many' } }), /server\.port must be integer/)
})

t.test('tables of plugins and skills are open', async t => {
  const config = completeConfig({ skills: { config: { git: { depth: 3 } } }, plugin: { mine: { a: 1 } } })
  t.same(config.skills.config['git'], { depth: 3 })
  t.same(config.plugin['mine'], { a: 1 })
})

t.test('checking what is given finds and completes the same as checking it all', async t => {
  const key = { hash: 'a'.repeat(64) }
  const any = fc.oneof(
    fc.integer(), fc.boolean(), fc.string(), fc.constant([]), fc.array(fc.string()), fc.constant({}), fc.constantFrom(
      '127.0.0.1', 'committed', 'info', 5000, [8], null
    )
  )
  const open = fc.constantFrom({ plugin: { x: { y: 1 } } }, { plugin: { x: 1 } }, { server: { keys: { ci: key } } }, {
    server: { keys: { ci: {} } }
  }, { server: 5 }, { prt: 1 }, { server: { prt: 1 } }, { skills: { config: { git: { a: 1 } } } }, {})
  const one = fc.nat(settings.length - 1).chain(setting => fc.tuple(
    fc.constant(setting),
    fc.oneof({ weight: 4, arbitrary: fc.constant(settings[setting]?.schema.default) }, any)
  ))
  const given = fc.uniqueArray(one, { selector: ([setting]) => setting, maxLength: 6 })
  let right = 0
  // The settings' own defaults, which are right, are always among them.
  fc.assert(fc.property(open, given, (open, given) => {
    const values: Record<string, unknown> = structuredClone(open)
    for (const [setting, value] of given) {
      const [section = '', name] = settings[setting]?.path ?? []
      if (name === undefined) values[section] = value
      else values[section] = { ...Object(values[section]), [name]: value }
    }
    const [some, all] = [structuredClone(values), structuredClone(values)]
    const wrong = checkWhole(whole, all)
    if (wrong === undefined) right++
    t.equal(checkGiven(whole, some), wrong)
    if (wrong === undefined) t.strictSame(some, all)
  }), {
    numRuns: 100,
    examples: [[{}, []], [{}, settings.slice(0, 6).map((setting, i): [number, unknown] => [i, setting.schema.default])]]
  })
  t.ok(right > 1, `${right} right ones among them`)
})
