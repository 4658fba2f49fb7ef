import {
  compileCheck, SkilletError, type JsonObject, type LoadedSkills, type SkillDefinition, type ToolDefinition
} from '../../kernel/index.ts'
import plugin from '../../plugins/skills-directory/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

/**
 * What the loader makes of these directories, and of the bundled skills where asked for. Nothing of the user's own is
 * read.
 */
export async function loadSkills (directories: readonly string[], bundled = false): Promise<LoadedSkills> {
  process.env['XDG_CONFIG_HOME'] = '/nonexistent'
  const opened = await openPlugin(plugin, {
    config: { skills: { bundled, directories: [...directories] }, plugin: { 'skills-directory': { wait_ms: 60_000 } } }
  })
  try {
    return await opened.service.load(new AbortController().signal)
  } finally {
    await opened.close()
  }
}

/** A bundled skill, as the loader gives it. */
export async function loadBundled (name: string): Promise<SkillDefinition> {
  const { skills, quarantined } = await loadSkills([], true)
  const skill = skills.find(skill => skill.name === name)
  if (skill === undefined) throw new Error(`the skill ${name} was not loaded: ${JSON.stringify(quarantined)}`)
  return skill
}

export function toolOf (skill: SkillDefinition, name: string): ToolDefinition {
  const tool = skill.tools.find(tool => tool.name === name)
  if (tool === undefined) throw new Error(`${skill.name} has no tool ${name}`)
  return tool
}

/** The parameters of a call, checked and completed as the kernel does. @throws SkilletError INVALID_PARAMETERS */
export function checked (tool: ToolDefinition, parameters: JsonObject): JsonObject {
  const complete = structuredClone(parameters)
  const wrong = compileCheck(tool.input_schema, 'parameters')(complete)
  if (wrong !== undefined) throw new SkilletError('INVALID_PARAMETERS', wrong)
  return complete
}
