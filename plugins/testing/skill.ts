import type { JsonObject, SkillDefinition, ToolDefinition } from '../../kernel/index.ts'

/** A skill for tests, with one tool. What is given replaces what is made up. */
export function skillOf (
  runtime: string,
  tool: Partial<ToolDefinition> & { name: string },
  skill: Partial<SkillDefinition> = {}
): { skill: SkillDefinition, tool: ToolDefinition } {
  const whole: ToolDefinition = {
    description: 'A tool under test', parameters: [], input_schema: { type: 'object' }, secrets: [], ...tool
  }
  return {
    tool: whole,
    skill: {
      name: 'subject', description: 'A skill under test', runtime,
      permissions: { network: false, write: [], env: [], secrets: [] },
      directory: skill.module ?? '/', revision: '1', trusted: true, tools: [whole], ...skill
    }
  }
}

/** A call of that skill's tool. */
export function callOf (
  runtime: string,
  tool: Partial<ToolDefinition> & { name: string },
  parameters: JsonObject,
  skill: Partial<SkillDefinition> = {}
): { skill: SkillDefinition, tool: ToolDefinition, parameters: JsonObject } {
  return { ...skillOf(runtime, tool, skill), parameters }
}
