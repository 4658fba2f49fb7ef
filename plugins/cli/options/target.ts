import {
  didYouMean, health, SkilletError, splitInstance, splitTool, type Call, type Gateway, type QuarantinedSkill,
  type Skill, type Tool
} from '../../../kernel/index.ts'
import { plain } from '../terminal/layout.ts'

/** The parameters of a tool as a user types them, required ones first, in the order of the manifest. */
export function usage ({ parameters }: Tool): string {
  return parameters.filter(({ required }) => required).map(({ name }) => `${plain(name)}=…`).join(' ')
}

/** The name of the skill in `github@work:log`, `github@work`, `github:log` or `github`. */
export function skillIn (target: string): string {
  return splitInstance(splitTool(target).skill_name).skill
}

/** The instances of a skill in one line, such as `github@work (default), github@home`; undefined without any. */
export function instancesText ({ instances }: Skill): string | undefined {
  return instances?.map(({ name, default: isDefault }) => isDefault === true ? `${name} (default)` : name).join(', ')
}

/**
 * Finds a tool of a skill.
 * @throws SkilletError TOOL_NOT_FOUND, with the nearest name, or with the fault of a tool that could not be loaded
 */
export async function findTool (
  gateway: Gateway, { name, tools }: Skill, tool_name: string, call: Call
): Promise<Tool> {
  const tool = tools.find(tool => tool.name === tool_name)
  if (tool !== undefined) return tool
  const broken = (await brokenTools(gateway, call)).find(tool => tool.name === name && tool.tool === tool_name)
  const why = broken === undefined
    ? didYouMean(tool_name, tools.map(({ name }) => name))
    : `: it could not be loaded: ${broken.error}`
  throw new SkilletError('TOOL_NOT_FOUND', `The skill "${name}" has no tool "${tool_name}"${why}`, {
    skill: name,
    tool: tool_name
  })
}

/** The tools that could not be loaded, of skills that could. */
export async function brokenTools (gateway: Gateway, call: Call): Promise<QuarantinedSkill[]> {
  return (await gateway.invoke(health, {}, call)).quarantined.filter(({ tool, serving }) =>
    tool !== undefined && serving !== true)
}

/**
 * The index of the `=` after the name in `name=value`. If names contain a `=`, the longest matching name counts. -1
 * where no name matches.
 */
export function equalsOf (pair: string, names: Iterable<string>): number {
  let longest = pair.indexOf('=')
  for (const name of names) if (name.length > longest && pair.startsWith(`${name}=`)) longest = name.length
  return longest
}
