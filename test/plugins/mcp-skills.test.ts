import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { compileCheck, type JsonObject, type LoadedSkills, type SkillSource } from '../../kernel/index.ts'
import plugin from '../../plugins/skills-directory/index.ts'
import { defineMcpTools } from '../../plugins/skills-directory/mcp-skill/define-mcp-tools.ts'
import { isChosen, toolNames } from '../../plugins/skills-directory/mcp-skill/tool-names.ts'
import { inputSchemaOf } from '../../plugins/skills-directory/mcp-skill/tool-schema.ts'
import { forTap, openPlugin, testSkillSource } from '../../plugins/testing/index.ts'
import { until } from '../../plugins/testing/until.ts'
import { serverOf } from '../../plugins/toolkit/mcp/server-spec.ts'
import { writeToolList } from '../../plugins/toolkit/mcp/tool-list.ts'

process.env['XDG_CONFIG_HOME'] = '/nonexistent'
const manifest = 'runtime = "mcp"\n[mcp]\ncommand = ["npx", "-y", "server"]\n'
const never = new AbortController().signal
const noInput = { type: 'object', properties: {} }

interface Opened {
  source: SkillSource, load: () => Promise<LoadedSkills>, put: (skill: string, text: string) => Promise<void>
}

async function open (t: Test, config: JsonObject = {}): Promise<Opened> {
  const directory = await mkdtemp(join(tmpdir(), 'skillet-mcp-skills-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const opened = await openPlugin(plugin, { config: {
    skills: { bundled: false, directories: [directory], ...config }, plugin: { 'skills-directory': { patience_ms: 0 } }
  } })
  t.teardown(opened.close)
  return {
    source: opened.service,
    load: () => opened.service.load(never),
    async put (skill, text) {
      await mkdir(join(directory, skill), { recursive: true })
      await writeFile(join(directory, skill, 'skill.toml'), text)
    }
  }
}

t.test('folders of MCP servers are a source of skills', t => {
  let opened: Opened
  let changes = 0
  return testSkillSource(forTap(t), {
    async open () {
      opened = await open(t)
      for (const name of ['good', 'other']) await opened.put(name, manifest)
      await opened.put('broken', 'runtime = "mcp"\n')
      return { service: opened.source, close: async () => {} }
    },
    good: 'good',
    broken: 'broken',
    change: () => opened.put(`new-${++changes}`, manifest)
  })
})

t.test('the tools are those that the server listed last, and a change of the list is a change of the skill', async t => {
  const { source, load, put } = await open(t)
  await put('time', `${manifest}exclude = ["secret_*"]\ntimeout_ms = 5000\n`)
  const { skills: [unknown], warnings: [warning] = [] } = await load()
  t.match(unknown, { name: 'time', runtime: 'mcp', tools: [], description: 'The tools of the MCP server time' })
  t.match(warning, { name: 'time', warning: /its tools are not known yet/ })
  if (unknown === undefined) throw new Error('it did not load')
  const { list_file, way, command, start_ms } = serverOf(unknown)
  t.match({ command, start_ms }, { command: ['npx', '-y', 'server'], start_ms: 30_000 })

  let changes = 0
  const stop = source.watch?.(() => { changes++ })
  t.teardown(async () => { await stop?.() })
  const tools = ['now', 'secret_one'].map(name => ({
    name, description: `Tell ${name}`, inputSchema: noInput, annotations: { readOnlyHint: true }
  }))
  await writeToolList(
    list_file, { way, listed: { tools, server: { name: 'x', version: '2.1' }, instructions: 'Ask it.' } }
  )
  await until(async () => changes > 0 && (await load()).skills[0]?.tools.length === 1)
  t.match((await load()).skills[0], {
    version: '2.1', instructions: 'Ask it.', description: 'Ask it.',
    tools: [{ name: 'now', timeout_ms: 5000, annotations: { read_only: true }, target: { name: 'now' } }]
  })
  await writeToolList(list_file, { way, listed: { tools }, fault: 'it died' })
  await until(async () => (await load()).warnings?.[0]?.warning.includes('it died') === true)
  t.equal((await load()).skills[0]?.tools.length, 1, 'it stays listed while it is down')
  await writeToolList(list_file, { way: 'another', listed: { tools } })
  await until(async () => (await load()).skills[0]?.tools.length === 0)
})

t.test('a manifest that can\'t be meant is refused by name', async t => {
  const { load, put } = await open(t)
  const broken: Record<string, [string, RegExp]> = {
    nothing: ['runtime = "mcp"', /has no \[mcp\]/],
    neither: ['runtime = "mcp"\n[mcp]\n', /neither a command nor a url/],
    both: ['runtime = "mcp"\n[mcp]\ncommand = ["a"]\nurl = "http://x/"', /a command and a url/],
    headers: ['runtime = "mcp"\n[mcp]\ncommand = ["a"]\nheaders = { A = "b" }', /headers, which only a url has/],
    secret: [
      'runtime = "mcp"\n[mcp]\nurl = "http://x/"\nheaders = { A = "{{TOKEN}}" }',
      /mcp\/headers\/A: the secret TOKEN is not in permissions.secrets/
    ],
    line: ['runtime = "mcp"\n[mcp]\ncommand = ["a", "--key={{KEY}}"]\n[permissions]\nsecrets = ["KEY"]', /other users could read the secret KEY/],
    tools: ['runtime = "mcp"\n[mcp]\ncommand = ["a"]\n[[tools]]\nname = "x"', /has \[\[tools\]\]/],
    native: ['description = "x"\n[mcp]\ncommand = ["a"]\n[[tools]]\nname = "x"\ndescription = "x"\ncommand = ["x"]', /needs runtime = "mcp"/]
  }
  for (const [name, [text]] of Object.entries(broken)) await put(name, text)
  const { skills, quarantined } = await load()
  t.same(skills, [])
  for (const [name, [, error]] of Object.entries(broken)) t.match(
    quarantined.find(fault => fault.name === name), { error }, name
  )
})

t.test('names of tools: what fits stays, what does not is made to fit, and none meets another', async t => {
  const originals = ['read', 'a/b', 'a b', 'a_b', 'x'.repeat(100), `${'x'.repeat(100)}y`, '__proto__', 'ok.name-1', 'ü']
  const names = toolNames(originals)
  t.equal(new Set(names.values()).size, originals.length, 'each name once')
  for (const name of names.values()) t.match(name, /^[A-Za-z0-9_.-]{1,64}$/)
  t.match(Object.fromEntries(names), { read: 'read', a_b: 'a_b', 'ok.name-1': 'ok.name-1', ü: '_' })
  t.same(toolNames(originals.toReversed()).get('a/b'), names.get('a/b'), 'whatever their order')
  t.ok(isChosen('read_file', { include: ['read_*'] }) && !isChosen('read', { include: ['read_*'] }))
  t.ok(isChosen('aXbYc', { include: ['a*b*c'] }) && !isChosen('ab', { include: ['ab*b'] }))
  t.notOk(isChosen('drop', { exclude: ['*'] }))
})

t.test('schemas of all versions are taken, and what can\'t be checked is refused', async t => {
  const schema = inputSchemaOf({
    $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', 'x-own': 1, required: ['kind', 'kind'],
    definitions: { Kind: { enum: ['a', 'b'], markdownDescription: 'x' } },
    properties: {
      kind: { $ref: '#/definitions/Kind' },
      pair: {
        type: 'array', items: [{ type: 'string' }, { type: 'integer', format: 'uint32' }], additionalItems: false
      },
      low: { type: 'number', minimum: 1, exclusiveMinimum: true },
      maybe: { type: 'string', nullable: true, pattern: '^(?!x)' },
      date: { type: 'string', format: 'date' }
    },
    dependencies: { low: ['maybe'] }
  })
  const check = compileCheck(schema, 'parameters')
  t.equal(check({ kind: 'a', pair: ['x', 1], maybe: null }), undefined)
  for (
    const wrong of [
      {}, { kind: 'c' }, {
        kind: 'a', pair: ['x', 1, 2]
      }, { kind: 'a', low: 1, maybe: '' }, { kind: 'a', low: 2 }, { kind: 'a', date: 'x' }
    ]
  ) {
    t.type(check(wrong), 'string', JSON.stringify(wrong))
  }
  let deep: JsonObject = {}
  for (let i = 0; i < 100; i++) deep = { properties: { x: deep } }
  const refused: Record<string, [unknown, RegExp]> = {
    none: [undefined, /no JSON Schema/], array: [{ type: 'array' }, /does not describe an object/],
    remote: [{ properties: { x: { $ref: 'https://example.com/x' } } }, /refers to "https/],
    dangling: [{ properties: { x: { $ref: '#/$defs/x' } } }, /can't resolve reference/],
    proto: [JSON.parse('{"properties":{"__proto__":{}}}'), /__proto__/],
    deep: [deep, /nested deeper/], large: [{ description: 'x'.repeat(300_000) }, /characters/]
  }
  for (const [name, [schema, error]] of Object.entries(refused)) t.throws(() => inputSchemaOf(schema), error, name)
})

t.test('a tool that can\'t be used is broken, and all others serve', async t => {
  const { tools, broken, notes } = defineMcpTools([
    {
      name: 'good', inputSchema: {
        type: 'object', properties: {
          a: { anyOf: [{ type: 'null' }, { type: 'integer' }], title: 'A' }, b: {}
        }, required: ['a']
      }
    },
    { name: 'twice', description: 'first', inputSchema: noInput },
    { name: 'twice', description: 'second', inputSchema: noInput },
    { name: 'schema', inputSchema: { type: 'string' } },
    { name: 7, inputSchema: noInput }, { name: '', inputSchema: noInput }
  ], {})
  t.match(tools, [
    {
      name: 'good', description: 'good', parameters: [
        { name: 'a', type: 'integer', description: 'A', required: true }, { name: 'b', type: 'string', required: false }
      ]
    },
    { name: 'twice', description: 'first' }
  ])
  t.match(broken.map(({ tool }) => tool).sort(), ['schema', 'tools/4', 'tools/5'])
  t.match(notes, [/two tools named "twice"; the first one serves/])
  const many = defineMcpTools(
    Array.from({ length: 10_000 }, (_, i) => ({ name: `tool-${i}`, inputSchema: noInput })), {}
  )
  t.equal(many.tools.length, 1000)
  t.match(many.notes, [/lists 10000 tools, of which the first 1000 serve; choose others with include and exclude/])
})
