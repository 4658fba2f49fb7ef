import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import plugin from '../../plugins/skills-directory/index.ts'
import { forTap, openPlugin, testSkillSource } from '../../plugins/testing/index.ts'

const native = 'description = "Says something"\n[[tools]]\nname = "say"\ndescription = "Say it"\ncommand = ["echo", "{{text}}"]\n[[tools.parameters]]\nname = "text"\ntype = "string"\ndescription = "What"\nrequired = true\n'
const script = (says: string): string =>
  `export default { description: '${says}', tools: { go: { description: 'Go', run () { return 1 } } } }\n`

for (const watch of ['events', 'polling']) {
  t.test(`directories are a source of skills, watched by ${watch}`, t => {
    process.env['XDG_CONFIG_HOME'] = '/nonexistent'
    let directory = ''
    let changes = 0
    const put = async (skill: string, file: string, text: string): Promise<void> => {
      await mkdir(join(directory, skill), { recursive: true })
      await writeFile(join(directory, skill, file), text)
    }
    return testSkillSource(forTap(t), {
      async open () {
        directory = await mkdtemp(join(tmpdir(), 'skillet-source-'))
        await put('good', 'skill.toml', native)
        await put('other', 'skill.js', script('Another'))
        await put('broken', 'skill.toml', 'tools = 5')
        const opened = await openPlugin(plugin, { config: {
          skills: { bundled: false, directories: [directory] },
          plugin: { 'skills-directory': { wait_ms: 60_000, patience_ms: 50, watch } }
        } })
        const own = directory
        return {
          service: opened.service,
          async close () {
            await opened.close()
            await rm(own, { recursive: true, force: true })
          }
        }
      },
      good: 'good',
      broken: 'broken',
      change: () => put(`new-${++changes}`, 'skill.js', script('A new one'))
    })
  })
}
