import fc from 'fast-check'
import t from 'tap'
import { compileAllows, instanceName, isAskedFor, splitInstance, splitTool } from '../../../kernel/index.ts'

const skill = fc.stringMatching(/^[a-z0-9-]{1,64}$/)
const tool = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/)

t.test('a name is put together and taken apart', async t => {
  fc.assert(fc.property(skill, skill, tool, (skill, instance, tool) => {
    const name = instanceName(skill, instance)
    t.strictSame(splitInstance(name), { skill, instance })
    t.strictSame(splitInstance(skill), { skill, instance: undefined })
    t.strictSame(splitTool(`${name}:${tool}`), { skill_name: name, tool_name: tool })
    t.strictSame(splitTool(name), { skill_name: name, tool_name: undefined })
    t.ok(isAskedFor(name, skill) && isAskedFor(name, name) && isAskedFor(skill, skill))
    t.notOk(isAskedFor(skill, name) || isAskedFor(name, `${skill}x`) || isAskedFor(name, `${name}x`))
  }), { numRuns: 50 })
})

t.test('a right to one instance is none to another, nor to the skill without an instance', async t => {
  fc.assert(fc.property(skill, skill, skill, tool, (skill, mine, other, tool) => {
    const allows = compileAllows([`${skill}@${mine}`])
    if (allows === undefined) throw new Error('there is a pattern')
    t.ok(allows(instanceName(skill, mine), tool))
    t.equal(allows(instanceName(skill, other), tool), mine === other)
    t.notOk(allows(skill, tool))
    t.ok(allows.ofSome(skill, tool))
    t.ok(compileAllows([skill])?.(instanceName(skill, other), tool), 'a skill stands for all its instances')
  }), { numRuns: 50 })
  const allows = compileAllows(['*@work:get-*', 'git@*:log'])
  for (const [name, tool, expected] of [
    ['forge@work', 'get-it', true], ['forge@home', 'get-it', false], ['forge', 'get-it', false],
    ['forge@work', 'drop', false], ['git', 'log', true], ['git@any', 'log', true], ['git@any', 'diff', false]
  ] as const) t.equal(allows?.(name, tool), expected, `${name}:${tool}`)
})
