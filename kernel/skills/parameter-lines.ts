import type { ParameterDescriptor, Tool } from '../contracts/schemas.ts'

/** Short texts about skills and tools: for lists, and for agents, which pay for each word. */

/** The longest description of a skill or tool in a list, in characters. */
const lineMax = 160

/** The first line of a text; a line longer than `max` characters is cut between two words. */
export function oneLine (text: string, max = lineMax): string {
  const line = text.trim().split(/\r?\n/, 1)[0] ?? ''
  if (line.length <= max) return line
  const end = line.lastIndexOf(' ', max - 1)
  return `${line.slice(0, end > max / 2 ? end : max - 1).toWellFormed()}…`
}

/** A parameter in one line: `count integer = 20 (1 to 1000): How many`. */
export function parameterLine ({ name, type, description, required, ...keywords }: ParameterDescriptor): string {
  const { default: preset, enum: allowed, minimum, maximum } = keywords
  const kind = Array.isArray(allowed) ? allowed.slice(0, 20).map(value => JSON.stringify(value)).join('|') : type
  const range = typeof minimum === 'number' || typeof maximum === 'number'
    ? ` (${typeof minimum === 'number' ? minimum : ''} to ${typeof maximum === 'number' ? maximum : ''})`
    : ''
  const shown = /^[^\s"\p{C}]+$/u.test(name) ? name : JSON.stringify(name)
  const otherwise = preset === undefined ? '' : ` = ${oneLine(JSON.stringify(preset), 80)}`
  return `${shown} ${kind}${required ? ' required' : ''}${otherwise}${range}: ${oneLine(description)}`
}

/** The parameters that an agent sets; the agent's client fills in all other parameters. */
export function agentParameters ({ parameters }: Pick<Tool, 'parameters'>): ParameterDescriptor[] {
  return parameters.filter(({ from_client }) => from_client === undefined)
}

export function parameterLines (tool: Pick<Tool, 'parameters'>): string[] {
  return agentParameters(tool).map(parameterLine)
}
