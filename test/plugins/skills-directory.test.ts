import {
  chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { LoadedSkills, SkillDefinition, SkillSource } from '../../kernel/index.ts'
import plugin from '../../plugins/skills-directory/index.ts'
import { loadSkills } from '../support/load-skills.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

const never = new AbortController().signal

/** Writes files, by path, under a new directory. */
function directory (t: Test, files: Record<string, string>): string {
  const path = t.testdir({})
  write(path, files)
  return path
}

function write (path: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
}

const native = (more = '', parameters = ''): string =>
  `description = "Says something"\n${more}\n[[tools]]\nname = "say"\ndescription = "Say it"\ncommand = ["echo", "{{text}}"]\n[[tools.parameters]]\nname = "text"\ntype = "string"\ndescription = "What"\n${parameters}`
const good = native('', 'required = true')
const script = (body = 'return 1', head = ''): string =>
  `${head}\nexport default { description: 'A script', tools: { go: { description: 'Go', run () { ${body} } } } }\n`

function named (loaded: LoadedSkills, name: string): SkillDefinition {
  const skill = loaded.skills.find(skill => skill.name === name)
  if (skill === undefined) throw new Error(`no ${name}: ${JSON.stringify(loaded.quarantined)}`)
  return skill
}

/** A package that is nowhere. */
const absent = 'not-installed'

const errorOf = (loaded: LoadedSkills, name: string): string | undefined =>
  loaded.quarantined.find(skill => skill.name === name)?.error

/** A source that can load more than once, and its data directory. */
async function open (
  t: Test,
  directories: string[],
  trusted: string[] = []
): Promise<{ source: SkillSource, data_dir: string, close: () => Promise<void> }> {
  process.env['XDG_CONFIG_HOME'] = '/nonexistent'
  const opened = await openPlugin(plugin, {
    // Modules run in threads: the sandbox has its own tests, and some of these count how often a module ran.
    config: {
      isolation: { mode: 'off' }, skills: { bundled: false, directories, trusted },
      plugin: { 'skills-directory': { wait_ms: 60_000 } }
    }
  })
  t.teardown(() => opened.close())
  return { source: opened.service, data_dir: opened.data_dir, close: opened.close }
}

t.test('a native skill', async t => {
  const skills = directory(t, {
    'greet/skill.toml':
      `name = "greet"\nversion = "1.2.3"\n[permissions]\nnetwork = true\nwrite = ["/tmp", "~/x", "{{text}}"]\nenv = ["HOME"]\nread = ["~/notes"]\nisolation = "sandbox"\n
[[tools]]\nname = "hi"\ndescription = "Greet"\ncommand = ["echo", ["--to", "{{name}}"], "{{text}}"]\nstdin = "{{text}}"\ntimeout_ms = 500\n
[[tools.parameters]]\nname = "text"\ntype = "string"\ndescription = "T"\ndefault = "hello"\nallow_dash = true\nmaxLength = 5\n
[[tools.parameters]]\nname = "name"\ntype = "string"\ndescription = "N"\nsecret = true\n`,
    'greet/SKILL.md': '---\nname: greet\ndescription: |\n  Greets people\nlicense: MIT\n---\n# How\n\nPolitely.\n'
  })
  const loaded = await loadSkills([skills])
  t.same(loaded.quarantined, [])
  const skill = named(loaded, 'greet')
  t.match(skill, {
    description: 'Greets people', version: '1.2.3', runtime: 'native', instructions: '# How\n\nPolitely.',
    directory: join(skills, 'greet'), trusted: false,
    permissions: {
      network: true, write: ['/tmp', '~/x', '{{text}}'], env: ['HOME'], read: ['~/notes'], isolation: 'sandbox'
    }
  })
  t.same(skill.tools.map(({ command: _command, ...tool }) => tool), [{
    name: 'hi', description: 'Greet', timeout_ms: 500, secrets: ['name'],
    parameters: [
      { name: 'text', type: 'string', description: 'T', required: false, default: 'hello', maxLength: 5 },
      { name: 'name', type: 'string', description: 'N', required: false, secret: true }
    ],
    input_schema: {
      type: 'object', additionalProperties: false,
      properties: {
        text: { type: 'string', description: 'T', default: 'hello', maxLength: 5 },
        name: { type: 'string', description: 'N' }
      }
    }
  }])
  t.match(skill.tools[0]?.command, { program: 'echo', dashes: ['text'] })
})

t.test('script skills: JavaScript in each kind of package, and TypeScript with imports', async t => {
  const skills = directory(t, {
    'asset/skill.js': 'import { text } from "./lib/text.js"\nimport { pad } from "pad"\nexport default { description: "A", tools: { go: { description: "Go", run: () => pad(text) } } }',
    'asset/lib/text.js': 'import { readFileSync } from "node:fs"\nexport const text = readFileSync(new URL("./word.txt", import.meta.url), "utf8")',
    'asset/lib/word.txt': 'word',
    'asset/node_modules/pad/package.json': '{"name": "pad", "type": "module", "exports": "./index.js"}',
    'asset/node_modules/pad/index.js':
      'export const pad = text => `${text} from ${new URL(".", import.meta.url).pathname.split("/").at(-2)}`',
    'lazy/skill.js': 'export default { description: "L", tools: { go: { description: "Go", async run () { return await import("'
      + absent
      + '").catch(() => "none") } } } }',
    'placed/skill.js': 'module.exports = { description: "P", tools: { go: { description: "Go", run: () => require("./lib/place.js") } } }',
    'placed/lib/place.js': 'module.exports = require("node:path").basename(__dirname)',
    'package.json': '{}', // without it, the project's own would say how to read what follows
    'plain/skill.js': script(),
    'module/skill.mjs': script(),
    'cjs/skill.js': 'module.exports = { description: "C", tools: { go: { description: "Go", run: () => 1 } } }',
    'old/package.json': '{"type": "commonjs"}',
    'old/skill.js': script(),
    'typed/skill.ts':
      `import { defineSkill } from 'skillet/skill'\nimport { double } from './lib/double.ts'\nimport { basename } from 'node:path'
export default defineSkill({ description: 'Typed', tools: { twice: { description: 'D', parameters: { n: { type: 'integer', description: 'N', required: true, secret: true } }, timeout_ms: 7,
  run: ({ n }): string => \`\${double(n)} \${basename(new URL(import.meta.url).pathname)}\` } } })`,
    'typed/lib/double.ts': 'export const double = (n: number): number => n * 2\n',
    'listed/skill.js': 'export default { description: "L", permissions: { network: ["*.example.org:443"] }, tools: { go: { description: "Go", run () {} } } }',
    'both/skill.toml': 'description = "From the manifest"\nversion = "2.0.0"\n[permissions]\nnetwork = true\n',
    'both/skill.js': 'export default { description: "x", version: "1.0.0", permissions: { env: ["HOME"] }, tools: { go: { description: "Go", run () {} } } }'
  })
  const { source, data_dir } = await open(t, [skills])
  const loaded = await source.load(never)
  t.same(loaded.quarantined, [])
  t.same(loaded.skills.map(skill => skill.name).sort(), [
    'asset', 'both', 'cjs', 'lazy', 'listed', 'module', 'old', 'placed', 'plain', 'typed'
  ])
  t.match(named(loaded, 'both'), {
    description: 'From the manifest', version: '2.0.0', permissions: { network: true, env: [] }
  })
  t.same(named(loaded, 'listed').permissions.network, ['*.example.org:443'])
  t.match(named(loaded, 'typed').tools, [
    { name: 'twice', timeout_ms: 7, secrets: ['n'], input_schema: { required: ['n'] } }
  ])
  for (const skill of loaded.skills) {
    const { default: exported } = await import(pathToFileURL(skill.module ?? '').href) as {
      default: { tools: Record<string, { run: unknown }> }
    }
    t.type(
      exported.tools[skill.tools[0]?.name ?? '']?.run, 'function', `${skill.name} can be imported from where it says`
    )
  }
  const go = async (name: string): Promise<unknown> => {
    const { default: exported } = await import(pathToFileURL(named(loaded, name).module ?? '').href) as {
      default: { tools: { go: { run (): unknown } } }
    }
    return exported.tools.go.run()
  }
  t.equal(await go('asset'), 'word from pad', 'files know their own place, and packages stay where they are')
  t.equal(await go('lazy'), 'none', 'what is imported when it is needed may be missing')
  t.equal(await go('placed'), 'lib')
  const typed = await import(pathToFileURL(named(loaded, 'typed').module ?? '').href) as {
    default: { tools: { twice: { run (parameters: { n: number }): string } } }
  }
  t.equal(typed.default.tools.twice.run({ n: 21 }), '42 skill.ts', 'a built module knows where it came from')

  await t.test('what was built is used again until an input changes', async t => {
    const before = readdirSync(join(data_dir, 'cache/skills')).sort()
    t.equal(named(await source.load(never), 'typed').module, named(loaded, 'typed').module)
    t.same(readdirSync(join(data_dir, 'cache/skills')).sort(), before)
    write(skills, { 'typed/lib/double.ts': 'export const double = (n: number): number => n * 20\n' })
    const changed = named(await source.load(never), 'typed')
    t.not(changed.module, named(loaded, 'typed').module)
    t.not(changed.revision, named(loaded, 'typed').revision)
    const old = new Date(Date.now() - 365 * 24 * 60 * 60 * 1000)
    utimesSync(named(loaded, 'typed').module ?? '', old, old)
    write(skills, { 'plain/skill.js': script('return 2') })
    await source.load(never)
    t.notOk(existsSync(named(loaded, 'typed').module ?? ''), 'one long unused is removed')
    t.ok(existsSync(changed.module ?? ''))
  })
})

t.test('each broken skill gives one clear line, and the others serve', async t => {
  const parameter = (keywords: string): string => native('', keywords)
  const tool = (code: string): string =>
    `export default { description: 'x', tools: { go: { description: 'x', run () {}, ${code} } } }`
  const broken: Record<string, [Record<string, string>, RegExp]> = {
    'toml-syntax': [{ 'skill.toml': 'description = "x"\nname = = 1\n' }, /^skill\.toml:2:8 is not valid TOML: /],
    'unknown-key': [
      { 'skill.toml': 'descripton = "x"\n' },
      /^skill\.toml has an unknown field "descripton"; did you mean "description"\?$/
    ],
    'unknown-tool-key': [
      { 'skill.toml': good.replace('[[tools]]', '[[tools]]\ntimeout = 3') },
      /^skill\.toml\/tools\/0 \("say"\) has an unknown field "timeout"/
    ],
    'unknown-keyword': [
      { 'skill.toml': parameter('required = true\nminimun = 3') },
      /^skill\.toml: tool "say": parameter "text": has an unknown key "minimun"; did you mean "minimum"\?$/
    ],
    'no-description': [
      { 'skill.toml': '[[tools]]\nname = "a"\ndescription = "x"\ncommand = ["x"]\n' },
      /^the skill has no description$/
    ],
    'no-tools': [{ 'skill.toml': 'description = "x"\n' }, /^skill\.toml has no \[\[tools\]\]$/],
    'other-name': [
      { 'skill.toml': `name = "something"\n${good}` },
      /^skill\.toml names the skill "something", but its folder is "other-name"/
    ],
    'other-name-md': [
      { 'skill.toml': good, 'SKILL.md': '---\nname: something\n---\n' },
      /^SKILL\.md names the skill "something"/
    ],
    'yaml': [
      { 'skill.toml': good, 'SKILL.md': '---\nname: [a\n---\n' },
      /^SKILL\.md:\d+:\d+ has frontmatter that is not valid YAML/
    ],
    'runtime': [
      { 'skill.toml': `runtime = "python"\n${good}` },
      /^skill\.toml\/runtime must be one of "native", "script", "agent", "http", "mcp", "container", "wasm"$/
    ],
    'two-tools': [
      { 'skill.toml': `${good}\n[[tools]]\nname = "say"\ndescription = "x"\ncommand = ["x"]\n` },
      /^skill\.toml: tool "say": two tools have this name$/
    ],
    'two-parameters': [
      { 'skill.toml': `${good}\n[[tools.parameters]]\nname = "text"\ntype = "string"\ndescription = "x"\n` },
      /tool "say": parameter "text": two parameters have this name$/
    ],
    'no-parameter': [
      { 'skill.toml': good.replace('{{text}}', '{{txet}}') },
      /tool "say": placeholder \{\{txet\}\} has no parameter of that name/
    ],
    'may-be-absent': [{ 'skill.toml': native() }, /placeholder \{\{text\}\} may be absent/],
    'lookbehind': [
      { 'skill.toml': parameter('required = true\npattern = "(?<=a)b"') },
      /parameter "text": its pattern can't be used \(RE2 syntax, without lookaround/
    ],
    'bad-default': [
      { 'skill.toml': parameter('default = 3') },
      /parameter "text": the default does not fit the parameter: default must be string$/
    ],
    'required-default': [
      { 'skill.toml': parameter('required = true\ndefault = "x"') },
      /a required parameter can't have a default$/
    ],
    'bad-keyword': [
      { 'skill.toml': parameter('required = true\nmaxLength = "x"') },
      /parameter "text": maxLength must be integer$/
    ],
    'bad-format': [
      { 'skill.toml': parameter('required = true\nformat = "emial"') },
      /parameter "text": unknown format "emial"$/
    ],
    'bad-ref': [
      { 'skill.toml': parameter('required = true\n"$ref" = "#/nowhere"') },
      /tool "say": can't resolve reference/
    ],
    'bad-rule': [
      { 'skill.toml': `${good}\n[tools.rules]\nanyOf = [{ requird = ["text"] }]` },
      /tool "say": has an unknown key "requird"/
    ],
    'other-rule': [
      { 'skill.toml': `${good}\n[tools.rules]\nproperties = {}` },
      /^skill\.toml\/tools\/0 \("say"\)\/rules has an unknown field "properties"/
    ],
    'other-dialect': [
      { 'skill.toml': `${good}\n[tools.rules]\n"$schema" = "http://json-schema.org/draft-04/schema#"` },
      /tool "say": no schema with key or ref "http:\/\/json-schema\.org\/draft-04/
    ],
    'filled-type': [
      { 'skill.toml': parameter('from_client = "answers"') },
      /parameter "text": from_client = "answers" needs the type "object"$/
    ],
    'filled-required': [
      { 'skill.toml': parameter('required = true\nfrom_client = "state"') },
      /what the client fills in can be neither required nor have a default$/
    ],
    'filled-by': [
      { 'skill.toml': parameter('from_client = "person"') },
      /from_client must be one of "answers", "state", "capabilities"$/
    ],
    'header-type': [
      { 'skill.js': tool('parameters: { a: { type: "number", description: "x", mcp_header: "A" } }') },
      /parameter "a": only a string, an integer or a boolean can have an mcp_header$/
    ],
    'header-twice': [
      { 'skill.js': tool('parameters: { a: { type: "string", description: "x", mcp_header: "A" }, b: { type: "string", description: "x", mcp_header: "a" } }') },
      /parameter "b": two parameters have this mcp_header$/
    ],
    'header-name': [
      { 'skill.js': tool('parameters: { a: { type: "string", description: "x", mcp_header: "A B" } }') },
      /mcp_header must match pattern/
    ],
    'proto': [
      { 'skill.toml': good.replaceAll('"text"', '"__proto__"') },
      /parameter "__proto__": the name is reserved$/
    ],
    'js-proto': [
      { 'skill.js': tool('parameters: { ["__proto__"]: { type: "string", description: "x" } }') },
      /parameter "__proto__": the name is reserved$/
    ],
    'half-name': [
      { 'skill.js': tool('parameters: { "\\ud800": { type: "string", description: "x" } }') },
      /half of a surrogate pair/
    ],
    'long-name': [
      { 'skill.js': tool(`parameters: { ${'x'.repeat(257)}: { type: "string", description: "x" } }`) },
      /names must match/
    ],
    'several': [
      { 'skill.js': 'export default { description: "x", tools: { a: { description: "x" }, b: { run () {} } } }' },
      /the tool "a" has no function "run" \(and 1 more of its tools are broken\)$/
    ],
    'proto-key': [
      { 'skill.toml': parameter('required = true\n[tools.parameters.items.__proto__]\na = 1') },
      /__proto__/
    ],
    'bad-type': [
      { 'skill.toml': good.replace('"string"', '"text"') },
      /^skill\.toml\/tools\/0 \("say"\)\/parameters\/0\/type must be one of "string"/
    ],
    'bad-write': [
      { 'skill.toml': native('[permissions]\nwrite = ["here"]', 'required = true') },
      /permissions\/write: "here" must be absolute/
    ],
    'bad-network': [
      { 'skill.toml': native('[permissions]\nnetwork = ["example.org", "https://example.org/"]', 'required = true') },
      /permissions\/network: "https:\/\/example\.org\/" is a URL; name a host, such as "api\.example\.org:443"/
    ],
    'bad-network-script': [
      { 'skill.js': 'export default { description: "x", permissions: { network: ["::1"] }, tools: { go: { description: "x", run () {} } } }' },
      /permissions\/network: "::1" needs brackets/
    ],
    'no-network-list': [
      { 'skill.toml': native('[permissions]\nnetwork = "example.org"', 'required = true') },
      /^skill\.toml\/permissions\/network must be /
    ],
    'latin': [{ 'skill.toml': '' }, /^skill\.toml is not valid UTF-8$/],
    'native-module': [
      { 'skill.toml': `runtime = "native"\n${good}`, 'skill.js': script() },
      /says runtime = "native", but the folder has a skill\.js$/
    ],
    'script-tools': [
      { 'skill.toml': good, 'skill.js': script() },
      /has \[\[tools\]\]; those of a script skill are in its skill\.js$/
    ],
    'two-modules': [{ 'skill.ts': script(), 'skill.js': script() }, /has both skill\.js and skill\.ts; keep one$/],
    'js-syntax': [{ 'skill.js': 'export default {\n  tools: }\n' }, /^skill\.js:2:\d+ can't be built: Unexpected "}"$/],
    'ts-syntax': [
      { 'skill.ts': 'import "./other.ts"', 'other.ts': '\nlet = ;' },
      /^skill\.ts can't be built: other\.ts:2:\d+: /
    ],
    'ts-import': [
      { 'skill.ts': 'import "./missing.ts"' },
      /^skill\.ts:1:8 can't be built: Could not resolve "\.\/missing\.ts"$/
    ],
    'big-import': [
      { 'skill.js': 'import "./big.js"; export default {}', 'big.js': '' },
      /^skill\.js:1:8 can't be built: big\.js has 100000000 bytes; the most is 8388608$/
    ],
    'throws': [
      { 'skill.js': 'throw new TypeError("first\\nsecond")' },
      /^skill\.js failed while it was imported: TypeError: first$/
    ],
    'throws-odd': [{ 'skill.js': 'throw null' }, /^skill\.js failed while it was imported: null$/],
    'js-import': [
      { 'skill.js': 'import "nowhere-to-be-found"; export default {}' },
      /^skill\.js:1:8 can't be built: Could not resolve "nowhere-to-be-found"$/
    ],
    'no-export': [{ 'skill.js': 'export const a = 1' }, /^skill\.js has no default export/],
    'no-run': [
      { 'skill.js': 'export default { description: "x", tools: { go: { description: "x" } } }' },
      /the tool "go" has no function "run"/
    ],
    'js-key': [
      { 'skill.js': tool('timeot_ms: 3') },
      /^skill\.js\/tools\/go has an unknown field "timeot_ms"; did you mean "timeout_ms"\?$/
    ],
    'js-function': [{ 'skill.js': tool('setup () {}') }, /^skill\.js\/tools\/go has an unknown field "setup"/],
    'js-name': [
      { 'skill.js': 'export default { description: "x", tools: { "a b": { description: "x", run () {} } } }' },
      /^skill\.js\/tools has a field "a b"; names must match/
    ],
    'js-getter': [
      { 'skill.js': 'export default { get tools () { throw new Error("trap") } }' },
      /can't be read: trap$/
    ],
    'js-cycle': [
      { 'skill.js': 'const a = {}; a.a = a; export default { description: "x", tools: { go: { description: "x", run () {}, parameters: { a } } } }' },
      /can't be read: /
    ],
    'js-empty': [
      { 'skill.js': 'export default { description: "x", tools: {} }' },
      /^skill\.js\/tools must NOT have fewer than 1 properties$/
    ],
    'Upper': [{ 'skill.toml': good }, /^the folder's name "Upper" can't be a skill's/],
    'only-md': [{ 'SKILL.md': '---\nname: only-md\n---\n' }, /^SKILL\.md has no description$/]
  }
  const skills = directory(t, { 'good/skill.toml': good, 'zgood/skill.js': script() })
  for (const [name, [files]] of Object.entries(broken)) write(join(skills, name), files)
  writeFileSync(join(skills, 'latin/skill.toml'), Buffer.from([0x64, 0xe9, 0x0a]))

  // What can't be written as a text.
  write(skills, {
    'big/skill.toml': '', 'bigjs/skill.js': '', 'fifo/x': '', 'secret/skill.toml': good, 'notes/README.md': 'no skill',
    'bigmd/SKILL.md': '', 'a-file': ''
  })
  truncateSync(join(skills, 'big/skill.toml'), 100_000_000)
  truncateSync(join(skills, 'bigjs/skill.js'), 100_000_000)
  truncateSync(join(skills, 'big-import/big.js'), 100_000_000)
  truncateSync(join(skills, 'bigmd/SKILL.md'), 100_000_000)
  execFileSync('mkfifo', [join(skills, 'fifo/skill.toml')])
  symlinkSync('circle', join(skills, 'circle'))
  mkdirSync(join(skills, 'inner-circle'))
  symlinkSync('skill.toml', join(skills, 'inner-circle/skill.toml'))
  symlinkSync(skills, join(skills, 'up'))
  mkdirSync(join(skills, 'linked-up'))
  symlinkSync(skills, join(skills, 'linked-up/more'))
  write(skills, { 'linked-up/skill.js': script() })
  chmodSync(join(skills, 'secret/skill.toml'), 0)

  const loaded = await loadSkills([skills])
  for (const [name, [, expected]] of Object.entries(broken)) t.match(errorOf(loaded, name), expected, name)
  t.match(errorOf(loaded, 'big'), /^skill\.toml has 100000000 bytes; the most is 1048576$/)
  t.match(errorOf(loaded, 'bigjs'), /^skill\.js has 100000000 bytes/)
  t.match(errorOf(loaded, 'bigmd'), /^SKILL\.md has 100000000 bytes; the most is 1048576$/)
  t.match(errorOf(loaded, 'fifo'), /^skill\.toml is not a regular file$/)
  t.match(errorOf(loaded, 'circle'), /symbolic links lead in a circle$/)
  t.match(errorOf(loaded, 'inner-circle'), /^skill\.toml can't be read: its symbolic links lead in a circle$/)
  for (const { name, path, error } of loaded.quarantined) {
    t.notMatch(error, /\n|\bat .*:\d+:\d+\)/, `${name} has one line, and ${path} is there`)
  }
  const expected = ['good', 'linked-up', 'zgood', ...(process.getuid?.() === 0 ? ['secret'] : [])]
  t.same(loaded.skills.map(skill => skill.name).sort(), expected.sort())
  t.equal(
    loaded.quarantined.length,
    Object.keys(broken).length + 6 + (process.getuid?.() === 0 ? 0 : 1),
    'and nothing else is at fault'
  )
})

t.test('a broken tool stays away by itself, and the others of its skill serve', async t => {
  const tool = (name: string, more = ''): string =>
    `\n[[tools]]\nname = "${name}"\ndescription = "x"\ncommand = ["x"]\n${more}`
  const skills = directory(t, {
    'toml/skill.toml': `description = "x"\n[permissions]\nwrite = ["{{where}}"]\n${tool('good', '[[tools.parameters]]\nname = "where"\ntype = "string"\ndescription = "x"\n')}${tool('timed', 'timeout = 3')}${tool('same')}${tool('same')}${tool('fills', '[[tools.parameters]]\nname = "x"\ntype = "string"\ndescription = "x"\ndefault = 3')}${tool('a b')}\n[[tools]]\ndescription = "x"\n`,
    'code/skill.js': `const run = () => 'done'
export default {
  description: 'x',
  tools: {
    good: { description: 'x', run },
    bare: { description: 'x' },
    get trap () { throw new Error('trap') },
    cycle: (() => { const a = { description: 'x', run }; a.parameters = a; return a })(),
    big: { description: 'x', run, parameters: { n: { type: 'integer', description: 'x', default: 1n } } },
    key: { description: 'x', run, timeot_ms: 3 },
    'a b': { description: 'x', run },
    pattern: { description: 'x', run, parameters: { a: { type: 'string', description: 'x', pattern: '(?<=a)b' } } },
    last: { description: 'x', run }
  }
}
`
  })
  const { source } = await open(t, [skills])
  const loaded = await source.load(never)
  t.same(loaded.skills.map(({ name, tools }) => [name, tools.map(tool => tool.name)]), [
    ['code', ['good', 'last']],
    ['toml', ['good']]
  ])
  const told = (name: string): Record<string, string> => Object.fromEntries(
    loaded.quarantined.filter(found => found.name === name).map(({ tool = '', error }) => [tool, error])
  )
  t.match(told('toml'), {
    timed: /^skill\.toml\/tools\/1 \("timed"\) has an unknown field "timeout"/,
    same: /^skill\.toml: tool "same": two tools have this name$/,
    fills: /^skill\.toml: tool "fills": parameter "x": the default does not fit/,
    'a b': /tools\/5 \("a b"\)\/name must match/, 'tools/6': /^skill\.toml\/tools\/6 must have the field "name"/
  })
  t.match(told('code'), {
    bare: /^skill\.js has a default export that can't be read: the tool "bare" has no function "run"$/,
    trap: /can't be read: trap$/, cycle: /can't be read: /, big: /can't be read: /,
    key: /^skill\.js\/tools\/key has an unknown field "timeot_ms"/,
    'a b': /^skill\.js\/tools has a field "a b"/,
    pattern: /^skill\.js: tool "pattern": parameter "a": its pattern can't be used/
  })
  t.ok(loaded.quarantined.every(({ path }) => /skill\.(toml|js)$/.test(path)))
  t.same(await source.load(never), loaded, 'what is known from the cache is the same')
})

t.test('a module that hangs, exits, or uses up its memory costs its own skill alone', async t => {
  const skills = directory(t, {
    'a-first/skill.js': script(),
    'exits/skill.js': 'process.exit(0)',
    'hangs/skill.js': script('', 'await new Promise(() => {})'),
    'later/skill.js': script('', 'setTimeout(() => { process.exit(3) }, 0)'),
    'prints/skill.js': script('', 'console.log("{}"); process.stdout.write("noise\\n"); console.error("noise")'),
    'spins/skill.js': 'for (;;) {}',
    'throws-later/skill.js': script('', 'setTimeout(() => { throw new Error("late") }, 0); Promise.reject(new Error("nobody")).catch(() => {})'),
    'z-last/skill.js': script('', 'setTimeout(() => { process.exit(4) }, 0)')
  })
  process.env['XDG_CONFIG_HOME'] = '/nonexistent'
  const opened = await openPlugin(plugin, { config: {
    isolation: { mode: 'off' },
    skills: { bundled: false, directories: [skills] },
    execution: { heap_bytes_max: 64 * 1_048_576 },
    plugin: { 'skills-directory': { describe_ms: 4000, wait_ms: 60_000 } }
  } })
  t.teardown(() => opened.close())
  const loaded = await opened.service.load(never)
  t.same(loaded.skills.map(skill => skill.name).sort(), ['a-first', 'later', 'prints', 'throws-later', 'z-last'])
  t.match(errorOf(loaded, 'exits'), /ended the thread it was described in, with code 0/)
  t.match(errorOf(loaded, 'hangs'), /took longer than 4 s to read/)
  t.match(errorOf(loaded, 'spins'), /took longer than 4 s to read/)
  // With the time it takes on a busy machine.
  const greedy = join(t.testdirName, 'greedy')
  write(greedy, {
    'a-first/skill.js': script(),
    'memory/skill.js': 'const all = []; for (;;) all.push(new Array(1000).fill(all.length))'
  })
  const patient = await openPlugin(plugin, { config: {
    isolation: { mode: 'off' },
    skills: { bundled: false, directories: [greedy] },
    execution: { heap_bytes_max: 64 * 1_048_576 },
    plugin: { 'skills-directory': { describe_ms: 60_000, wait_ms: 600_000 } }
  } })
  t.teardown(() => patient.close())
  t.match(errorOf(await patient.service.load(never), 'memory'), /used up the memory/)
})

t.test('later directories shadow earlier ones, be the skill broken or not', async t => {
  const [one, two] = [join(t.testdir({}), 'one'), join(t.testdirName, 'two')]
  write(one, { 'a/skill.toml': good, 'b/skill.toml': good, 'c/skill.toml': 'broken', 'git/skill.toml': good })
  write(two, {
    'a/skill.toml': good.replace('Says something', 'Second'),
    'b/skill.toml': 'broken',
    'c/skill.toml': good,
    'git/README.md': 'no skill'
  })
  const loaded = await loadSkills([one, two, join(two, 'nowhere')], true)
  t.match(named(loaded, 'a'), { description: 'Second', directory: join(two, 'a') })
  t.match(named(loaded, 'c'), { directory: join(two, 'c') })
  t.match(
    named(loaded, 'git'),
    { directory: join(one, 'git'), trusted: false },
    'a bundled one is shadowed; a folder that is no skill shadows nothing'
  )
  t.match(named(loaded, 'text'), { trusted: true })
  t.match(loaded.quarantined, [
    { name: 'nowhere', path: join(two, 'nowhere'), error: 'the skills directory can\'t be read: it does not exist' },
    { name: 'b', path: join(two, 'b/skill.toml') }
  ])
})

t.test('skills under the user\'s configuration directory are found; those in trusted directories are trusted, by their real paths', async t => {
  const home = t.testdir({
    config: { skillet: { skills: { mine: { 'skill.toml': good } } } },
    real: { inside: { 'skill.toml': good } },
    dir: {}
  })
  symlinkSync(join(home, 'real'), join(home, 'link'))
  symlinkSync(join(home, 'real/inside'), join(home, 'dir/linked'))
  write(home, { 'really/skill.toml': good })
  process.env['XDG_CONFIG_HOME'] = join(home, 'config')
  const opened = await openPlugin(plugin, { config: { skills: {
    bundled: false,
    directories: [join(home, 'dir'), home],
    trusted: [join(home, 'link'), join(home, 'absent')]
  } } })
  t.teardown(() => opened.close())
  const loaded = await opened.service.load(never)
  t.same(loaded.skills.map(({ name, trusted }) => [name, trusted]), [
    ['mine', false], ['linked', true], ['really', false]
  ])
})

t.test('what was described is known until the folder, or what it is built from, changes', async t => {
  const skills = directory(t, {
    'package.json': '{"type": "module"}',
    'counted/skill.js': script('', 'import { appendFileSync } from "node:fs"\nappendFileSync(new URL("../count", import.meta.url), "x")'),
    'built/skill.ts': `import { text } from '../shared.ts'\nexport default { description: text, tools: { go: { description: 'Go', run () {} } } }\n`,
    'shared.ts': 'export const text: string = "One"\n',
    'broken/skill.toml': 'broken'
  })
  const described = (): number => statSync(join(skills, 'count')).size
  const { source, data_dir } = await open(t, [skills])
  const first = await source.load(never)
  t.equal(described(), 1)
  const again = await source.load(never)
  t.same(again, first)
  t.equal(described(), 1, 'nothing of it ran')

  for (const name of readdirSync(join(data_dir, 'cache/skills'))) truncateSync(join(data_dir, 'cache/skills', name), 10)
  t.same(await source.load(never), first, 'a damaged cache does no harm')
  t.equal(described(), 2)
  t.same(await source.load(never), first)
  t.equal(described(), 2)

  write(skills, { 'shared.ts': 'export const text: string = "Another"\n' })
  t.equal(named(await source.load(never), 'built').description, 'Another', 'a file outside its folder')
  rmSync(named(first, 'built').module ?? '', { force: true })
  rmSync(named(await source.load(never), 'built').module ?? '')
  t.ok(existsSync(named(await source.load(never), 'built').module ?? ''), 'a built module that has gone is built again')
  t.equal(described(), 2)

  write(skills, { 'counted/skill.toml': 'description = "From the manifest"\n' })
  t.equal(named(await source.load(never), 'counted').description, 'From the manifest')
  t.equal(described(), 3)
})

t.test('loading again gives what is there then', async t => {
  const skills = directory(t, { 'a/skill.js': script(), 'b/skill.toml': good, 'c/skill.toml': 'broken' })
  const { source } = await open(t, [skills])
  const first = await source.load(never)
  t.same(first.skills.map(skill => skill.name), ['a', 'b'])
  const again = await source.load(never)
  t.equal(named(again, 'a').revision, named(first, 'a').revision)
  t.equal(named(again, 'b').revision, named(first, 'b').revision)
  write(skills, { 'a/skill.js': script().replace('A script', 'Changed'), 'c/skill.toml': good })
  rmSync(join(skills, 'b'), { recursive: true })
  const second = await source.load(never)
  t.same(second.skills.map(skill => skill.name), ['a', 'c'])
  t.equal(named(second, 'a').description, 'Changed')
  t.not(named(second, 'a').revision, named(first, 'a').revision)
  t.same(second.quarantined, [])
})

t.test('loading stops when it is aborted, or the plugin is stopped', async t => {
  const skills = directory(t, { 'spins/skill.js': 'for (;;) {}' })
  const { source, close } = await open(t, [skills])
  await t.rejects(source.load(AbortSignal.abort(new Error('enough'))), { message: 'enough' })
  const aborted = new AbortController()
  const loading = source.load(aborted.signal)
  setTimeout(() => { aborted.abort(new Error('enough')) }, 300)
  await t.rejects(loading, { message: 'enough' })
  const stopping = source.load(never)
  await Promise.all([t.rejects(stopping, { message: 'the plugin was stopped' }), close()])
})
