import { isObject } from './json.ts'
import type { JsonObject, ParameterDescriptor, Tool } from './schemas.ts'

/** What agents are shown of skills and tools: few words each, since every one of them is paid for. */

/** The longest description of a skill or tool in a list, in characters. */
const lineMax = 160

/** The first line of a text, cut at a word. */
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
  const range = typeof minimum === 'number' || typeof maximum === 'number' ? ` (${typeof minimum === 'number' ? minimum : ''} to ${typeof maximum === 'number' ? maximum : ''})` : ''
  return `${/^[^\s"\p{C}]+$/u.test(name) ? name : JSON.stringify(name)} ${kind}${required ? ' required' : ''}${preset === undefined ? '' : ` = ${oneLine(JSON.stringify(preset), 80)}`}${range}: ${oneLine(description)}`
}

/** The parameters that an agent gives; its client fills in the others. */
export function agentParameters ({ parameters }: Pick<Tool, 'parameters'>): ParameterDescriptor[] {
  return parameters.filter(({ from_client }) => from_client === undefined)
}

export function parameterLines (tool: Pick<Tool, 'parameters'>): string[] {
  return agentParameters(tool).map(parameterLine)
}

/** A call of a tool that can be copied: with what it requires, and a value of its kind for each. */
export function exampleOf (skill_name: string, tool: Pick<Tool, 'name' | 'parameters'>): { skill_name: string, tool_name: string, parameters: JsonObject } {
  const required = agentParameters(tool).filter(parameter => parameter.required)
  return { skill_name, tool_name: tool.name, parameters: Object.fromEntries(required.map(parameter => [parameter.name, valueOf(parameter)])) }
}

/** A value that fits a schema, or nearly. */
function valueOf (schema: JsonObject): unknown {
  const { type, examples, example, default: preset, enum: allowed, minimum, items } = schema
  for (const known of [examples, [example], [preset], allowed]) if (Array.isArray(known) && known[0] !== undefined) return known[0]
  switch (type) {
    case 'integer':
    case 'number': return typeof minimum === 'number' ? minimum : 1
    case 'boolean': return true
    case 'array': return [valueOf(isObject(items) ? items : {})]
    case 'object': return {}
    default: return '…'
  }
}

/** Takes items while their JSON fits in a budget of characters; the first is always taken. */
export function withinBudget<T> (items: readonly T[], characters: number): T[] {
  const taken: T[] = []
  let left = characters
  for (const item of items) {
    left -= JSON.stringify(item).length
    if (left < 0 && taken.length > 0) break
    taken.push(item)
  }
  return taken
}
