import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { JsonObject, SkillDefinition } from '../../kernel/index.ts'
import type { ToolContext } from '../../kernel/skill.ts'
import { checked, toolOf } from './load-skills.ts'

interface Module { default: { tools: Record<string, { run (parameters: JsonObject, context: ToolContext): unknown }> } }

/** Calls a tool of a bundled script skill right here, with its parameters checked and completed as the kernel does. */
export async function runScript (
  skill: SkillDefinition, name: string, parameters: JsonObject, context: Partial<ToolContext> = {}
): Promise<unknown> {
  const { default: { tools } } = await import(pathToFileURL(join(skill.directory, 'skill.js')).href) as Module
  const complete = checked(toolOf(skill, name), parameters)
  const whole: ToolContext = {
    signal: new AbortController().signal, config: {}, secrets: {}, execution_id: 'test', progress () {}, log () {},
    ...context
  }
  return await tools[name]?.run(complete, whole)
}
