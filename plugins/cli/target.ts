import { didYouMean, SkilletError, type Skill, type Tool } from '../../kernel/index.ts'

/** A tool's parameter as it is typed, required ones first in the order of the manifest. */
export function usage ({ parameters }: Tool): string {
  return parameters.filter(({ required }) => required).map(({ name }) => `${name}=…`).join(' ')
}

/** Takes `git:log` apart; `git` names no tool. */
export function splitTarget (target: string): { skill_name: string, tool_name: string | undefined } {
  const colon = target.indexOf(':')
  if (colon === -1) return { skill_name: target, tool_name: undefined }
  return { skill_name: target.slice(0, colon), tool_name: target.slice(colon + 1) }
}

/** A tool of a skill. @throws SkilletError TOOL_NOT_FOUND, naming the nearest one */
export function findTool ({ name, tools }: Skill, tool_name: string): Tool {
  const tool = tools.find(tool => tool.name === tool_name)
  if (tool !== undefined) return tool
  throw new SkilletError('TOOL_NOT_FOUND', `The skill "${name}" has no tool "${tool_name}"${didYouMean(tool_name, tools.map(({ name }) => name))}`, { skill: name, tool: tool_name })
}
