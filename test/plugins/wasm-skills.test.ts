import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LoadedSkills } from '../../kernel/index.ts'
import plugin from '../../plugins/skills-directory/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { boundMemories, memoriesOf } from '../../plugins/toolkit/wasm/host/bound-memory.ts'
import { componentOf, engineWat, engineWit, parse } from '../support/wasm-components.ts'
import { fixture, folderFor, manifestOf, openSkills, putSkill, runTool } from '../support/wasm.ts'

process.env['XDG_CONFIG_HOME'] = '/nonexistent'
t.setTimeout(280_000)

const importing = (name: string): string => `(import "wasi_snapshot_preview1" "${name}" (func))`
const command = (body: string, more = '(memory (export "memory") 1)'): string =>
  `(module ${more} (func (export "_start") ${body}))`

async function load (t: Test, skills: string): Promise<LoadedSkills> {
  const opened = await openPlugin(plugin, { config: {
    skills: { bundled: false, directories: [skills], trusted: [skills] },
    plugin: { 'skills-directory': { patience_ms: 0, watch: 'off' } }
  } })
  t.teardown(opened.close)
  return await opened.service.load(new AbortController().signal)
}

t.test('what can\'t be run is refused by its name and the reason, and all others serve', async t => {
  const skills = await folderFor(t)
  const good = await parse(command('nop'))
  const bad: Record<string, { content: Uint8Array, because: RegExp }> = {
    text: { content: Buffer.from('#!/bin/sh\necho hello\n'), because: /tool\.wasm is no WebAssembly/ },
    empty: { content: Buffer.alloc(0), because: /tool\.wasm is no WebAssembly/ },
    cut: { content: good.subarray(0, good.length - 5), because: /tool\.wasm is no valid module/ },
    newer: { content: Buffer.from('\0asm\x02\0\0\0', 'latin1'), because: /of a version that is not known/ },
    strange: {
      content: await parse(`(module (import "env" "system" (func)) ${importing('sock_connect')} (memory (export "memory") 1) (func (export "_start")))`),
      because: /imports what there is not: env\.system, wasi_snapshot_preview1\.sock_connect/
    },
    library: { content: await parse('(module (memory (export "memory") 1))'), because: /exports no function _start/ },
    'no-memory': { content: await parse('(module (func (export "_start")))'), because: /exports no memory/ },
    'other-world': {
      content: await componentOf('package a:b;\nworld w { export add: func(a: u32) -> u32; }',
        '(module (func (export "add") (param i32) (result i32) (local.get 0)))'),
      because: /a component of another world: it exports add,/
    },
    'odd-import': {
      content: await componentOf(
        'package a:b;\ninterface gpu { draw: func(); }\nworld w { import gpu; export run: func(); }',
        '(module (import "a:b/gpu" "draw" (func)) (func (export "run")))'
      ),
      because: /imports what there is not: a:b\/gpu/
    },
    engine: { content: await componentOf(engineWit(), engineWat()), because: /plugin\.skill-engine\.directories/ },
    'cut-component': {
      content: (await componentOf(engineWit(), engineWat())).subarray(0, 300),
      because: /tool\.wasm is no valid component/
    }
  }
  for (const [name, { content }] of Object.entries(bad)) {
    await putSkill(skills, name, manifestOf('tool.wasm'), { 'tool.wasm': content })
  }
  await putSkill(skills, 'elsewhere', manifestOf('../good/good.wasm'), {})
  await putSkill(skills, 'absent', manifestOf('tool.wasm'), {})
  await putSkill(skills, 'network', manifestOf('good.wasm', '[permissions]\nnetwork = true\n'), { 'good.wasm': good })
  await putSkill(skills, 'somewhere', manifestOf('good.wasm', '', 'cwd = "/"'), { 'good.wasm': good })
  await putSkill(skills, 'good', manifestOf('good.wasm'), { 'good.wasm': good })
  const other = manifestOf('bad.wasm').replace(/^[\s\S]*?(?=\[\[tools)/, '').replace('"run"', '"other"')
  const files = { 'good.wasm': good, 'bad.wasm': Buffer.from('bad') }
  await putSkill(skills, 'half', `${manifestOf('good.wasm')}\n${other}`, files)

  const { skills: loaded, quarantined } = await load(t, skills)
  const names = loaded.map(({ name, tools }) => [name, ...tools.map(({ name }) => name)].join(' '))
  t.same(names.sort(), ['good run', 'half run'])
  const why = new Map(quarantined.map(({ name, error }) => [name, error]))
  for (const [name, { because }] of Object.entries(bad)) t.match(why.get(name), because, name)
  t.match(why.get('elsewhere'), /must be the name of a \.wasm file in the skill's folder/)
  t.match(why.get('absent'), /tool\.wasm can't be read: it does not exist/)
  t.match(why.get('network'), /WebAssembly is given no network/)
  t.match(why.get('somewhere'), /no working directory/)
  t.match(quarantined.find(({ name }) => name === 'half'), { tool: 'other', error: /bad\.wasm is no WebAssembly/ })
})

t.test('a file that changes is another revision, and an unchanged one is read from the cache', async t => {
  const skills = await folderFor(t)
  await putSkill(skills, 'one', manifestOf('tool.wasm'), { 'tool.wasm': await parse(command('nop')) })
  const before = (await load(t, skills)).skills[0]
  t.equal((await load(t, skills)).skills[0]?.revision, before?.revision)
  await writeFile(join(skills, 'one', 'tool.wasm'), await parse(command('unreachable')))
  t.not((await load(t, skills)).skills[0]?.revision, before?.revision)
})

t.test('what a module begins with is bounded too, and where it is given too much it fails by name', async t => {
  const skills = await folderFor(t)
  const modules = {
    four: command('nop', '(memory (export "memory") 65536)'),
    declared: command('nop', '(memory (export "memory") 1 65536)'),
    // It asks for more until it is given none, and traps unless it has some.
    grows: command('(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (if (i32.lt_u (memory.size) (i32.const 512)) (then unreachable)) (if (i32.gt_u (memory.size) (i32.const 1537)) (then unreachable))'),
    tables: '(module (memory (export "memory") 1) (table $t 1 funcref) (func (export "_start") (loop (drop (table.grow $t (ref.null func) (i32.const 1000000))) (br 0))))',
    start: '(module (memory (export "memory") 1) (func $s (loop (br 0))) (start $s) (func (export "_start")))',
    good: command('nop')
  }
  for (const [name, text] of Object.entries(modules)) {
    await putSkill(skills, name, manifestOf('tool.wasm'), { 'tool.wasm': await parse(text) })
  }
  const kernel = await openSkills(t, skills, { execution: { heap_bytes_max: 128 * 1_048_576, threads: 2 } })
  t.match((await runTool(kernel, 'four')).error?.message, /its memory begins with 4096 MiB; it may have 96 MiB/)
  t.match(await runTool(kernel, 'declared'), { output: '' })
  t.match(await runTool(kernel, 'grows'), { output: '' })
  t.match((await runTool(kernel, 'tables', [], { timeout_ms: 4_000 })).error?.code, /TIMEOUT|TOOL_EXECUTION_FAILED/)
  t.match((await runTool(kernel, 'start', [], { timeout_ms: 400 })).error, { code: 'TIMEOUT' })
  t.match(await runTool(kernel, 'good'), { output: '' }, 'others still run')
})

t.test('memories of every kind are bounded together', async t => {
  const page = 65_536
  const two = await parse('(module (memory 1) (memory 2 300))')
  const [bounded = two] = boundMemories([two], 103 * page)
  t.match(memoriesOf(bounded)?.memories, [{ min: 1n, max: 51n }, { min: 2n, max: 52n }])
  t.ok(memoriesOf(await parse('(module (func))')) === undefined)
  const kinds = ['(module (memory i64 1))', '(module (memory 1 3 shared))']
  const wide = boundMemories(await Promise.all(kinds.map(parse)), 100 * page)
  t.match(wide.map(module => memoriesOf(module)?.memories), [[{ min: 1n, max: 50n }], [{ min: 1n, max: 3n }]])
  t.throws(() => boundMemories([two, two], 5 * page), /its memory begins with 0 MiB/)
  for (let length = 9; length < two.length; length++) {
    try {
      memoriesOf(two.subarray(0, length))
    } catch (error) {
      t.match(error, { message: /the module (?:ends within|has)/ }, `${length} bytes`)
    }
  }
})

t.test('a component that uses the network is ended, and its failure names what it used', async t => {
  const skills = await folderFor(t)
  const wit = `package a:b;
world w {
  import wasi:http/outgoing@0.2.0;
  export wasi:cli/run@0.2.0;
}
package wasi:http@0.2.0 { interface outgoing { send: func() -> u32; } }
package wasi:cli@0.2.0 { interface run { run: func() -> result; } }
`
  const component = await componentOf(wit, `(module
    (import "wasi:http/outgoing@0.2.0" "send" (func $send (result i32)))
    (func (export "wasi:cli/run@0.2.0#run") (result i32) (drop (call $send)) (i32.const 0)))`)
  await putSkill(skills, 'sender', manifestOf('sender.wasm'), { 'sender.wasm': component })
  await putSkill(skills, 'probe', manifestOf('probe.wasm'), { 'probe.wasm': fixture('probe.component.wasm') })
  const kernel = await openSkills(t, skills)
  const { error } = await runTool(kernel, 'sender')
  t.match(error?.message, /it used wasi:http\/outgoing \(send\), which WebAssembly skills are not given/)
  t.match(await runTool(kernel, 'probe', ['args']), { output: 'probe.wasm\nargs\n' })
})
