import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject, Kernel } from '../../../kernel/index.ts'
import { callTool, loadFrom, openEngine, temporary } from '../../support/skill-engine.ts'
import { componentOf, engineWat, engineWit, parse, refusing } from '../../support/wasm-components.ts'

process.env['XDG_CONFIG_HOME'] = '/nonexistent'
t.setTimeout(280_000)

/** A directory with folders of skills, by their names; each has a `skill.wasm` and perhaps more. */
async function directoryOf (t: Test, folders: Record<string, Record<string, string | Uint8Array>>): Promise<string> {
  const directory = await temporary(t)
  for (const [name, files] of Object.entries(folders)) {
    for (const [file, content] of Object.entries(files)) {
      await mkdir(join(directory, name, file, '..'), { recursive: true })
      await writeFile(join(directory, name, file), content)
    }
  }
  return directory
}

const nameOf = (name: string): JsonObject => ({ text: name })

t.test('a component of the Skill Engine runs in place, unchanged', async t => {
  const component = await componentOf(engineWit(), engineWat(undefined, refusing))
  const without = await componentOf(engineWit(''), engineWat(''))
  const directory = await directoryOf(t, {
    echo: { 'skill.wasm': component, 'skill.config.toml': '[config]\nregion = "eu-west-1"\n' },
    plain: { 'dist/skill.wasm': without, 'SKILL.md': '---\nname: plain\ndescription: Without an argument\n---\n' }
  })
  const kernel: Kernel = await openEngine(t, [directory], { trusted: [directory] })
  const call = (skill: string, tool: string) => callTool(kernel, skill, tool, nameOf('ü "x"'))
  t.same(await call('wasm-echo', 'echo'), { output: '{"text":"ü \\"x\\""}' })
  t.same(await call('wasm-echo', 'setting'), { output: 'eu-west-1' })
  t.same(await call('plain', 'echo'), { output: '{"text":"ü \\"x\\""}' }, 'validate-config has no argument')
  t.same(await call('plain', 'setting'), { output: '' }, 'a setting that there is not')
  t.same(await call('wasm-echo', 'count'), { output: '1' })
  t.same(await call('wasm-echo', 'count'), { output: '1' }, 'each call has an instance of its own')
  t.match((await call('wasm-echo', 'trap')).error, { code: 'TOOL_EXECUTION_FAILED', message: /unreachable/ })
  t.same(await call('wasm-echo', 'setting'), { output: 'eu-west-1' }, 'a trap harms no later call')
})

t.test('damaged components and those of another world are refused, and all others serve', async t => {
  const component = await componentOf(engineWit(), engineWat(undefined, refusing))
  const looping = await componentOf(engineWit(), engineWat().replace(
    '(func (export "get-tools") (result i32)', '(func (export "get-tools") (result i32) (loop (br 0))'
  ))
  const directory = await directoryOf(t, {
    bad: { 'skill.wasm': 'no WebAssembly' },
    command: { 'skill.wasm': await parse('(module (memory (export "memory") 1) (func (export "_start")))') },
    good: { 'skill.wasm': component, 'skill.config.toml': '[config]\nregion = "eu-west-1"\n' },
    huge: { 'skill.wasm': await componentOf(engineWit(), engineWat().replace('"memory") 2)', '"memory") 65536)')) },
    looping: { 'skill.wasm': looping },
    world: {
      'skill.wasm': await componentOf('package a:b;\nworld w { export add: func(a: u32) -> u32; }',
        '(module (func (export "add") (param i32) (result i32) (local.get 0)))')
    }
  })
  const { skills, quarantined } = await loadFrom(t, [directory], { describe_ms: 15_000 })
  t.same(skills.map(({ name }) => name), ['wasm-echo'])
  const why = (folder: string): string | undefined => quarantined.find(({ path }) => path.includes(`/${folder}`))?.error
  t.match(why('bad'), /skill\.wasm is no WebAssembly/)
  t.match(why('command'), /skill\.wasm is a command/)
  t.match(why('huge'), /its memory begins with 4096 MiB/)
  t.match(why('looping'), /took longer than 15 s/)
  t.match(why('world'), /a component of another world: it exports add/)
})

t.test('settings that a component refuses fail each of its calls', async t => {
  const component = await componentOf(engineWit(), engineWat(undefined, refusing))
  const directory = await directoryOf(t, { echo: { 'skill.wasm': component } })
  const kernel = await openEngine(t, [directory], { trusted: [directory] })
  t.match((await callTool(kernel, 'wasm-echo', 'echo', nameOf('x'))).error, {
    message: /its settings are refused: the settings are bad/
  })
})
