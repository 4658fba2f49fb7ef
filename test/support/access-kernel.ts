import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  completeConfig, createKernel, definePlugin, silentLogger, type Gateway, type SkillDefinition
} from '../../kernel/index.ts'
import { inlineExecutor } from '../../plugins/executor-inline/index.ts'
import storage from '../../plugins/storage-memory/index.ts'
import { exactSearch } from '../../plugins/testing/exact-search.ts'
import { skillOf } from '../../plugins/testing/skill.ts'

type Tools = Readonly<Record<string, readonly string[]>>

export interface AccessKernel {
  gateway: Gateway
  stop: () => Promise<void>
  skillsOf: (tools: Tools) => SkillDefinition[]
}

/** A kernel with skills whose tools answer `done`, and a source of skills that can be told to change. */
export async function bootKernel (
  tools: Tools,
  sourceOf?: (source: { skills: SkillDefinition[], changed: () => void }) => void
): Promise<AccessKernel> {
  const data_dir = await mkdtemp(join(tmpdir(), 'skillet-access-'))
  const skillsOf = (given: Tools): SkillDefinition[] => Object.entries(given).map(([name, names]) =>
    skillOf(
      'inline',
      { name: 'none' },
      { name, tools: names.map(tool => skillOf('inline', { name: tool, description: tool }).tool) }
    ).skill)
  const skills = skillsOf(tools)
  const source = definePlugin({
    name: 'skills-changing',
    slot: 'skills',
    setup: () => ({
      load: async () => ({ skills: [...skills], quarantined: [] }),
      watch (changed) {
        sourceOf?.({ skills, changed })
        return () => {}
      }
    })
  })
  const inline = inlineExecutor({ tools: Object.fromEntries(
    skills.flatMap(skill => skill.tools.map(tool => [`${skill.name}:${tool.name}`, () => 'done']))
  ) })
  // Skills are followed only where somebody may still ask.
  const door = definePlugin({ name: 'door', slot: 'transport', setup: () => ({}) })
  const kernel = await createKernel({
    config: completeConfig({}), log: silentLogger, version: { version: '0', commit: '', build_date: '' }, data_dir,
    plugins: [storage, exactSearch, inline, source, door]
  }, new AbortController().signal)
  return {
    gateway: kernel.gateway, skillsOf,
    async stop () {
      await kernel.stop()
      await rm(data_dir, { recursive: true, force: true })
    }
  }
}
