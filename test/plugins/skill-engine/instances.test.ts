import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { listSkills, type JsonObject, type Plugin } from '../../../kernel/index.ts'
import engine from '../../../plugins/skill-engine/index.ts'
import { skillsSection } from '../../../plugins/skills-directory/settings.ts'
import { forTap, openPlugin, testSkillSource } from '../../../plugins/testing/index.ts'
import {
  callTool, fakePrograms, folderOf, loadFrom, openEngine, sampleFor, setVariables, temporary
} from '../../support/skill-engine.ts'

t.setTimeout(280_000)

const manifest = `
[skills.keeper]
source = "./code"
[skills.keeper.instances.default]
config.sign = "1"
[skills.keeper.instances.other]
config.sign = "2"
config.api_token = "a-secret-of-the-file"
env.LEVEL = "high"
`
const code = `
const atImport = process.env.SKILL_SIGN
let shown = []
export const validateConfig = text => { shown.push(JSON.parse(text).sign); return { ok: null } }
export const getTools = () => [{ name: 'tell' }, { name: 'leak' }, { name: 'variables' }]
export const executeTool = name => {
  if (name === 'leak') { process.env.SKILL_LEAKED = 'yes'; globalThis.leaked = process.env.SKILL_API_TOKEN; return 'left' }
  if (name === 'variables') return { output: 'Command: git ' + process.env.SKILL_API_TOKEN }
  return [atImport, globalThis.getConfig('SKILL_SIGN'), shown.join('+'), process.env.LEVEL, process.env.SKILL_LEAKED].join(' ')
}`

t.test('an instance has its own module, settings and variables, and never sees those of another', async t => {
  const folder = await folderOf(t, { '.skill-engine.toml': manifest, 'code/skill.js': code })
  const kernel = await openEngine(t, [folder], {}, { execution: { threads: 1 } })
  t.same(await callTool(kernel, 'keeper@other', 'leak'), { output: 'left' })
  for (let i = 0; i < 5; i++) { // settings are shown once, before the first call
    t.same(await callTool(kernel, 'keeper', 'tell'), { output: '1 1 1  ' })
    t.same(await callTool(kernel, 'keeper@default', 'tell'), { output: '1 1 1  ' })
    t.same(await callTool(kernel, 'keeper@other', 'tell'), { output: '2 2 2 high ' })
  }
})

t.test('without a default among the instances, a call that names none has the defaults of the manifest', async t => {
  const toml = '[defaults.env]\nLEVEL = "low"\n' + manifest.replace('instances.default', 'instances.Main_1')
  const folder = await folderOf(t, { '.skill-engine.toml': toml, 'code/skill.js': code })
  const kernel = await openEngine(t, [folder])
  const call = { transport: 'test', signal: new AbortController().signal }
  const { skills } = await kernel.gateway.invoke(listSkills, {}, call)
  t.same(skills.find(({ name }) => name === 'keeper')?.instances?.map(({ name }) => name),
    ['keeper@default', 'keeper@main-1', 'keeper@other'])
  t.same(await callTool(kernel, 'keeper', 'tell'), { output: '   low ' })
  t.same(await callTool(kernel, 'keeper@main-1', 'tell'), { output: '1 1 1 low ' })
  t.match(await callTool(kernel, 'keeper@none', 'tell'), { error: { code: 'SKILL_NOT_FOUND' } })
})

t.test('secret settings do not come out, and commands have the variables of their instance', async t => {
  const folder = await folderOf(t, { '.skill-engine.toml': manifest, 'code/skill.js': code })
  await fakePrograms(t, 'git')
  const bin = process.env['PATH']?.split(':')[0] ?? ''
  await writeFile(join(bin, 'git'), '#!/bin/sh\necho "$LEVEL $SKILL_SIGN $SKILL_API_TOKEN $1"\n', { mode: 0o755 })
  const kernel = await openEngine(t, [folder])
  t.same(await callTool(kernel, 'keeper@other', 'variables'), { output: 'high 2 [secret] [secret]\n' })
})

t.test('a secret that is elsewhere comes from the secrets of the user', async t => {
  const { folder } = await sampleFor(t, 'postcard')
  setVariables(t, { XDG_CONFIG_HOME: await temporary(t), reply_token: 'a-token-of-the-user' })
  const { skills: [skill], warnings } = await loadFrom(t, [folder])
  t.same(skill?.permissions.secrets, ['reply_token'])
  t.notMatch(JSON.stringify(skill), 'a-token-of-the-user', 'a definition holds no secret')
  t.notOk(warnings?.some(({ warning }) => warning.startsWith('secret-missing')))
})

t.test('TypeScript on the kit runs by its stand-in', async t => {
  const folder = await folderOf(t, {
    'kit/src/skill.ts': `
      import { defineSkill, ok, err, errors, getConfig } from '@skill-engine/sdk'
      interface Args { count: number, on?: boolean }
      export default defineSkill({
        metadata: { name: 'kit', version: '1.1.0', description: 'By the kit' },
        tools: [
          { name: 'show', description: 'S', parameters: [
            { name: 'count', paramType: 'number', required: true, description: 'C', validation: { maximum: 5 } },
            { name: 'on', paramType: 'boolean', required: false, defaultValue: 'true', description: 'O' }
          ], handler: async ({ count, on }: Args) => ok(JSON.stringify([count, on, getConfig('place'), getConfig().PLACE])) },
          { name: 'fail', description: 'F', parameters: [], handler: () => err('no luck', errors.notFound('x')) }
        ]
      })`,
    'kit/skill.config.toml': '[config]\nplace = "here"\n'
  })
  const kernel = await openEngine(t, [folder])
  t.same(await callTool(kernel, 'kit', 'show', { count: 2 }), { output: '[2,true,"here","here"]' })
  t.match(await callTool(kernel, 'kit', 'show', { count: 9 }), { error: { code: 'INVALID_PARAMETERS' } })
  t.match(await callTool(kernel, 'kit', 'fail'), { error: { code: 'TOOL_EXECUTION_FAILED', message: /no luck/ } })
})

t.test('skills are trusted by their directory, and skills.locked keeps the others from serving', async t => {
  const folder = await folderOf(t, { 'a/skill.js': code, 'b/skill.js': code })
  const trusted = [join(folder, 'b')]
  const open = await loadFrom(t, [folder], { trusted })
  t.same(open.skills.map(({ name, trusted }) => [name, trusted]), [['a', false], ['b', true]])
  const config: JsonObject = { skills: { locked: true } }
  const plugin: Plugin<'skills'> = { ...engine, sections: [skillsSection] } // the setting is another plugin's
  const opened = await openPlugin(plugin, {
    config: { ...config, plugin: { 'skill-engine': { directories: [folder], trusted } } }
  })
  t.teardown(() => opened.close())
  const locked = await opened.service.load(new AbortController().signal)
  t.same(locked.skills.map(({ name }) => name), ['b'])
  t.match(locked.quarantined, [{ name: 'a', error: /^not-trusted/ }])
})

t.test('without docker, a container fails with what is missing', async t => {
  const { folder } = await sampleFor(t, 'box-only')
  setVariables(t, { PATH: '/nowhere' })
  const kernel = await openEngine(t, [folder])
  t.match(await callTool(kernel, 'figures', 'run'), { error: { code: 'TOOL_EXECUTION_FAILED', message: /docker/ } })
})

t.test('as a source of skills', t => {
  let folder = ''
  return testSkillSource(forTap(t), {
    good: 'good',
    broken: 'broken',
    async open () {
      folder = await folderOf(t, {
        'good/skill.js': code, 'broken/skill.js': 'export',
        'text/SKILL.md': '---\nname: git\ndescription: G\n---\n## Tools\n### version\nV\n'
      })
      const options = { directories: [folder], watch_ms: 20 }
      return await openPlugin(engine, { config: { plugin: { 'skill-engine': options } } })
    },
    async change () {
      await rm(join(folder, 'text', 'SKILL.md'), { force: true })
      await writeFile(join(folder, 'good', 'skill.js'), `${code}\n// changed ${Math.random()}`)
    }
  })
})
