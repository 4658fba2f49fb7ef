import { chmod, mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { execute, getSkill, health, type JsonObject } from '../../kernel/index.ts'
import executorNative from '../../plugins/executor-native/index.ts'
import executorWorker from '../../plugins/executor-worker/index.ts'
import skillsDirectory from '../../plugins/skills-directory/index.ts'
import { startKernel } from '../support/kernel.ts'

process.env['XDG_CONFIG_HOME'] = '/nonexistent' // skills of whoever runs the tests
const folder = t.testdir({})
const outside = t.testdirName + '-outside'
t.teardown(() => rm(outside, { recursive: true, force: true }))

async function put (path: string, text: string, mode?: number): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
  if (mode !== undefined) await chmod(join(folder, path), mode)
}

// One that keeps the format's rules, in full.
await put('pdf-forms/SKILL.md', `---
name: pdf-forms
description: >
  Fill in forms of PDF files.
  Use it for forms.
license: Apache-2.0
compatibility: Needs python3
metadata:
  author: somebody
  version: "1.4"
allowed-tools: Read Bash(git:*)
---

# Forms

See [the reference](references/fields.md).
`)
await put('pdf-forms/references/fields.md', 'one\ntwo\r\nthree')
await put('pdf-forms/assets/logo.bin', '')
await writeFile(join(folder, 'pdf-forms/assets/logo.bin'), Buffer.from([0, 255, 1]))
for (let i = 0; i < 300; i++) await put(`pdf-forms/references/many/part-${String(i).padStart(3, '0')}.md`, `Part ${i}`)
await put('pdf-forms/node_modules/left/index.js', '')
await put('pdf-forms/scripts/package.json', '{"type": "module"}', 0o755)
await put('pdf-forms/scripts/node_modules/pad/index.js', 'export const pad = text => text.padStart(5, "*")\n')
await put(
  'pdf-forms/scripts/node_modules/pad/package.json',
  '{"name": "pad", "type": "module", "exports": "./index.js"}'
)
await put('pdf-forms/scripts/lib/inner.py', 'print("inner")\n', 0o755)
await put('pdf-forms/scripts/__init__.py', '', 0o755)
await put('pdf-forms/scripts/README.md', '# Scripts', 0o755)
await put('pdf-forms/scripts/types.d.ts', 'export {}')
await put(
  'pdf-forms/scripts/show args.py',
  '"""Show what\nit is given.\n\nMore."""\nimport sys\nprint(sys.argv[1:], sys.stdin.read())\n'
)
await put('pdf-forms/scripts/check.sh', '# Check something.\necho "$BASH_VERSION" | head -c 1 >/dev/null; echo "checked $# $1"; exit "${2:-0}"\n')
await put('pdf-forms/scripts/check.py', '# Check it otherwise\nprint("checked by python")\n')
await put('pdf-forms/scripts/list.js', '/**\n * Lists things.\n */\nimport { pad } from "pad"\nconsole.log(pad("js"), process.argv.slice(2).join())\n')
await put(
  'pdf-forms/scripts/count.mjs',
  'let n = 0\nfor await (const chunk of process.stdin) n += chunk.length\nconsole.log(n)\n'
)
await put('pdf-forms/scripts/typed.ts', `import { pathToFileURL } from 'node:url'\nimport { twice } from './lib/twice.js'\nenum Kind { Main }\nif (import.meta.url === pathToFileURL(process.argv[1]!).href) console.log(Kind[0], twice(21 as number), process.argv[2])\n`)
await put('pdf-forms/scripts/lib/twice.ts', 'export const twice = (n: number): number => n * 2\n')
await put('pdf-forms/scripts/awk', '#!/usr/bin/env -S awk -f\nBEGIN { print "awk", ARGV[1] }\n')
await put('pdf-forms/scripts/direct', '#!/bin/sh\necho direct "$@"\n', 0o755)
await put('pdf-forms/scripts/plain', 'echo plain "$1"\n', 0o755)
await put('pdf-forms/scripts/notes', 'no mode and no ending: data\n')
await mkdir(outside, { recursive: true })
await writeFile(join(outside, 'secret.txt'), 'secret')
await writeFile(join(outside, 'run.sh'), 'echo out\n')
await symlink(join(outside, 'run.sh'), join(folder, 'pdf-forms/scripts/escape.sh'))
await symlink(outside, join(folder, 'pdf-forms/references/out'))
await symlink('fields.md', join(folder, 'pdf-forms/references/alias.md'))
await symlink('loop', join(folder, 'pdf-forms/references/loop'))
await put('pdf-forms/assets/large.txt', '')
await truncate(join(folder, 'pdf-forms/assets/large.txt'), 100_000_000)

// Ones as they are found.
await put('PDF_Tools/SKILL.md', `---\nname: Other Name\ndescription: Use when: a colon is not quoted\nmodel: some\nallowed-tools: 5\n---\nText\n`)
await put('no-frontmatter/SKILL.md', '# Title\n\nWhat it does,\nin two lines.\n')
await put('long/SKILL.md', `---\nname: not-its-folder\ndescription: ${'long '.repeat(400)}\nmetadata: [1]\n---\n`)
await put('lower/skill.md', '---\nname: lower\ndescription: In lower case\n---\nText\n')
await put('configured/SKILL.md', '---\nname: configured\ndescription: With a manifest\n---\nText\n')
await put('configured/skill.toml', 'runtime = "agent"\nversion = "2.0.0"\n[permissions]\nenv = ["SKILLET_TEST_WORD"]\n')
await put('configured/scripts/word.sh', 'echo "$SKILLET_TEST_WORD:$HOME"\n')
await put('twin/SKILL.md', '---\nname: twin\ndescription: One\n---\n')
await put('Twin/SKILL.md', '---\nname: twin\ndescription: Two\n---\n')
await put('toml-only/skill.toml', 'runtime = "agent"\n')
await put('both/skill.toml', 'runtime = "agent"\n[[tools]]\nname = "a"\ndescription = "b"\ncommand = ["true"]\n')

process.env['SKILLET_TEST_WORD'] = 'word'
const { kernel, close } = await startKernel({
  config: { skills: { bundled: false, directories: [folder] } },
  plugins: [executorWorker, executorNative, skillsDirectory]
})
t.teardown(close)
const call = { transport: 'cli' as const, signal: new AbortController().signal }
const run = async (skill_name: string, tool_name: string, parameters: JsonObject = {}): Promise<string> =>
  (await kernel.gateway.invoke(execute, { skill_name, tool_name, parameters }, call)).output
const record = async (
  tool_name: string,
  parameters: JsonObject
): Promise<{ files: { path: string, bytes: number }[], truncated: boolean }> => JSON.parse(
  await run('pdf-forms', tool_name, parameters)
) as { files: { path: string, bytes: number }[], truncated: boolean }

t.test('a folder that keeps the format\'s rules is a skill, with its scripts as tools', async t => {
  const skill = await kernel.gateway.invoke(getSkill, { name: 'pdf-forms' }, call)
  t.match(skill, { runtime: 'agent', version: '1.4', description: 'Fill in forms of PDF files. Use it for forms.' })
  t.same(skill.tools.map(({ name, description }) => [name, description.slice(0, 60)]), [
    ['instructions', 'Read the instructions of the skill pdf-forms, before anythin'],
    ['read', 'Read a file of the skill pdf-forms, such as one that its ins'],
    ['list', 'List the files of the skill pdf-forms with their sizes in by'],
    ['awk', 'Run scripts/awk'],
    ['check.py', 'Run scripts/check.py: Check it otherwise'],
    ['check.sh', 'Run scripts/check.sh: Check something.'],
    ['count', 'Run scripts/count.mjs'],
    ['direct', 'Run scripts/direct'],
    ['lib_inner', 'Run scripts/lib/inner.py'],
    ['list.js', 'Run scripts/list.js: Lists things.'],
    ['plain', 'Run scripts/plain'],
    ['show_args', 'Run scripts/show args.py: Show what it is given.'],
    ['typed', 'Run scripts/typed.ts']
  ])
})

t.test('its instructions and files are read within the folder, and nowhere else', async t => {
  t.equal(await run('pdf-forms', 'instructions'), '# Forms\n\nSee [the reference](references/fields.md).')
  t.equal(await run('pdf-forms', 'read', { path: 'references/fields.md' }), 'one\ntwo\r\nthree')
  t.equal(
    await run('pdf-forms', 'read', { path: './references/../references/alias.md', from_line: 2, lines: 1 }),
    'two\r\n'
  )
  t.equal(await run('pdf-forms', 'read', { path: 'references/fields.md', from_line: 3 }), 'three')
  t.equal(await run('pdf-forms', 'read', { path: 'references/fields.md', from_line: 9 }), '')
  t.equal(await run('pdf-forms', 'read', { path: 'assets/logo.bin', encoding: 'base64' }), 'AP8B')
  const refusals: [string, RegExp][] = [
    ['assets/logo.bin', /no UTF-8 text; encoding "base64" gives its 3 bytes/],
    ['assets/large.txt', /has 100000000 bytes; the most is/],
    ['references', /is a folder/], ['references/none.md', /does not exist/],
    ['references/loop', /links lead in a circle/],
    ['../no-frontmatter/SKILL.md', /not within/], ['/etc/passwd', /not within/],
    ['references/out/secret.txt', /leads out of/], ['a\0b', /not within/]
  ]
  for (const [path, why] of refusals) {
    await t.rejects(run('pdf-forms', 'read', { path }), { code: 'TOOL_EXECUTION_FAILED', message: why }, path)
  }
  const { files, truncated } = await record('list', {})
  t.notOk(truncated)
  t.match(files.slice(0, 4).map(({ path }) => path), [
    'SKILL.md', 'assets/large.txt', 'assets/logo.bin', 'references/alias.md'
  ])
  t.notOk(files.some(({ path }) => /node_modules|out|loop/.test(path)))
  t.equal((await record('list', { path: 'references/many' })).files.length, 300)
  t.same((await record('list', { path: 'assets' })).files.at(-1), { path: 'assets/logo.bin', bytes: 3 })
  await t.rejects(run('pdf-forms', 'list', { path: 'references/out' }), { message: /leads out of/ })
})

t.test('its scripts run as what they are, with arguments and standard input', async t => {
  const cases: [string, JsonObject, string][] = [
    [
      'show_args',
      { arguments: ['--flag', '-x', 'a b', '{{arguments}}', ''], stdin: 'in' },
      '[\'--flag\', \'-x\', \'a b\', \'{{arguments}}\', \'\'] in\n'
    ],
    ['check.sh', { arguments: ['one'] }, 'checked 1 one\n'],
    ['check.py', {}, 'checked by python\n'],
    ['list.js', { arguments: ['a', 'b'] }, '***js a,b\n'],
    ['count', { stdin: '12345' }, '5\n'],
    ['typed', { arguments: ['last'] }, 'Main 42 last\n'],
    ['awk', { arguments: ['x'] }, 'awk x\n'],
    ['direct', { arguments: ['-n', 'x'] }, 'direct -n x\n'],
    ['plain', { arguments: ['x'] }, 'plain x\n']
  ]
  for (const [tool, parameters, expected] of cases) t.equal(await run('pdf-forms', tool, parameters), expected, tool)
  await t.rejects(run('pdf-forms', 'check.sh', { arguments: ['', '3'] }), {
    code: 'TOOL_EXECUTION_FAILED',
    details: { exit_code: 3 }
  })
  await t.rejects(run('pdf-forms', 'check.sh', { arguments: 'x' }), { code: 'INVALID_PARAMETERS' })
  t.equal(await run('configured', 'word'), 'word:\n', 'a skill.toml beside it gives permissions')
})

t.test('odd ones are read all the same, with warnings; only what leaves no skill is a fault', async t => {
  const { warnings, quarantined } = await kernel.gateway.invoke(health, {}, call)
  const of = (name: string): string[] => warnings.filter(warning => warning.name === name).map(({ warning }) => warning)
  t.match(of('pdf-forms'), [/^scripts\/escape\.sh is a link that leads out of the folder, and no tool$/])
  t.match(of('pdf-tools'), [
    /^SKILL\.md:3:\d+ has frontmatter that is not valid YAML: .*; it was read line by line$/,
    /^the folder's name "PDF_Tools" is not one of a-z, 0-9 and -: the skill is called "pdf-tools"$/,
    /^SKILL\.md: name must be 1 to 64 of a-z, 0-9 and -/,
    /^SKILL\.md has keys that the format does not know: "model"$/
  ])
  t.equal(
    (await kernel.gateway.invoke(getSkill, { name: 'pdf-tools' }, call)).description,
    'Use when: a colon is not quoted'
  )
  t.match(of('no-frontmatter'), [/has no frontmatter/, /has no name/, /has no description: the beginning/])
  t.equal((await kernel.gateway.invoke(getSkill, { name: 'no-frontmatter' }, call)).description, 'Title')
  t.match(of('long'), [
    /names the skill "not-its-folder", but its folder is "long"/,
    /metadata should be a table/,
    /description has 1999 characters; the format allows 1024/
  ])
  t.match(of('lower'), [/should be called SKILL\.md/])
  t.same(of('configured'), [])
  t.match(await kernel.gateway.invoke(getSkill, { name: 'configured' }, call), { version: '2.0.0' })
  t.equal((await kernel.gateway.invoke(getSkill, { name: 'twin' }, call)).description, 'One')
  t.match(quarantined.toSorted((a, b) => a.name < b.name ? -1 : 1), [
    { name: 'Twin', error: /^the folder beside it, "twin", has the same name as a skill: "twin"$/ },
    { name: 'both', error: /has \[\[tools\]\]; those of an Agent Skills folder are its scripts$/ },
    { name: 'toml-only', path: join(folder, 'toml-only/SKILL.md'), error: 'SKILL.md can\'t be read: it does not exist' }
  ])
  t.equal(quarantined.length, 3)
})
