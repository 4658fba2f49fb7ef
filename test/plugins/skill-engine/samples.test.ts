import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Kernel, LoadedSkills } from '../../../kernel/index.ts'
import {
  callTool, fakePrograms, loadFrom, openEngine, sampleFor, type ExpectedCall, type ExpectedSkill
} from '../../support/skill-engine.ts'

t.setTimeout(280_000)

const samples = [
  'git-reader', 'repo-commands', 'text-lab', 'postcard', 'workspace', 'box-only', 'legacy-folder', 'broken'
]

for (const name of samples) {
  t.test(`${name}: skills, tools, notes, refusals and calls are as expected`, async t => {
    const { folder, expected } = await sampleFor(t, name)
    await fakePrograms(t, 'git', 'curl', 'psql', 'docker')
    const loaded = await loadFrom(t, [folder])
    for (const skill of expected.skills) testSkill(t, skill, loaded)
    t.same(loaded.skills.map(({ name }) => name), expected.skills.map(({ name }) => name))
    testRefused(t, expected.refused, loaded)
    const kernel = await openEngine(t, [folder])
    for (const skill of expected.skills) {
      for (const call of skill.calls) if (call.without_config !== true) await testCall(t, kernel, skill, call)
    }
    const bare = expected.skills.flatMap(skill =>
      skill.calls.filter(call => call.without_config).map(call => ({ skill, call })))
    if (bare.length === 0) return
    await rm(join(folder, 'skill.config.toml'))
    const other = await openEngine(t, [folder])
    for (const { skill, call } of bare) await testCall(t, other, skill, call)
  })
}

function testSkill (t: Test, expected: ExpectedSkill, { skills, warnings = [] }: LoadedSkills): void {
  const skill = skills.find(({ name }) => name === expected.name)
  if (skill === undefined) {
    t.fail(`there is no skill ${expected.name}`)
    return
  }
  t.equal(skill.version, expected.version)
  t.ok(skill.description.startsWith(expected.description), `${expected.name}: ${skill.description}`)
  for (const { name } of expected.services ?? []) t.ok(skill.description.includes(name), 'services are shown')
  t.same(skill.tools.map(({ name, description, input_schema }) => ({ name, description, parameters: input_schema })),
    expected.tools.map(tool => ({ ...tool, parameters: asServed(tool.parameters) })))
  const notes = warnings.filter(({ name }) => name === expected.name).map(({ warning }) => warning.split(' (')[0])
  t.same(notes.sort(), expected.notes.map(note => note.split(' (')[0]).sort(), `notes of ${expected.name}`)
}

/** The schema as the server has it: defaults are told, not filled in; a secret is known beside the schema. */
function asServed ({ properties, required, type }: ExpectedSkill['tools'][number]['parameters']): object {
  const served = Object.entries(properties as Record<string, Record<string, unknown>>).map(([name, property]) => {
    const { default: initial, secret: _secret, description, ...rest } = property
    const text = String(description)
    const told = initial === undefined || text.includes('default:')
      ? text
      : `${text} (default: ${typeof initial === 'string' ? initial : JSON.stringify(initial)})`
    return [name, { ...rest, description: told }]
  })
  const names = required as string[]
  return {
    type, properties: Object.fromEntries(served), ...(names.length > 0 && { required }), additionalProperties: false
  }
}

function testRefused (
  t: Test, expected: { folder?: string, name?: string, reason: string, message_has: string }[],
  { quarantined }: LoadedSkills
): void {
  t.equal(quarantined.length, expected.length, JSON.stringify(quarantined))
  for (const { folder, name, reason, message_has } of expected) {
    const found = quarantined.find(found =>
      found.error.startsWith(`${reason}: `) && found.name === (name ?? folder))
    t.ok(found, `${name ?? folder} is refused`)
    t.ok(found?.error.includes(message_has), `${found?.error} has ${message_has}`)
    t.ok(folder === undefined || found?.path.includes(folder), `${found?.path} is in ${basename(folder ?? '')}`)
  }
}

async function testCall (t: Test, kernel: Kernel, skill: ExpectedSkill, call: ExpectedCall): Promise<void> {
  const { tool, parameters, instance, expect } = call
  const name = instance === undefined ? skill.name : `${skill.name}@${instance}`
  const about = `${name}:${tool} ${JSON.stringify(parameters)}`
  const result = await callTool(kernel, name, tool, parameters)
  if (expect.error !== undefined) {
    t.equal(result.error?.code, expect.error.code, `${about}: ${JSON.stringify(result)}`)
    t.ok(result.error?.message.includes(expect.error.message_has), `${about}: ${result.error?.message}`)
  } else if (expect.command?.[1] === 'run') testContainer(t, expect.command, result.command ?? [], about)
  else if (expect.command !== undefined) t.same(result, { command: expect.command }, about)
  else t.same(result, { output: expect.output }, about)
}

/** A container has the options of its manifest, among those that all containers have, and the same arguments. */
function testContainer (t: Test, [, , ...expected]: string[], actual: string[], about: string): void {
  const image = expected.findIndex(word => word.startsWith('example/'))
  const own = expected[image - 2] === '--entrypoint' ? [`--entrypoint=${expected[image - 1]}`] : []
  const words = [...own, ...expected.slice(image)]
  t.same(actual.slice(-words.length), words, about)
  const options = expected.slice(0, image - 2 * own.length).join(' ').replaceAll(/-e (\w+)=\S*/g, '--env $1')
  const text = ` ${actual.join(' ')} `
  for (const option of options.split(/ (?=-)/)) t.ok(text.includes(` ${option} `), `${about}: ${option}`)
}
