import { agentParameters, isObject, type JsonObject, type Tool } from '../../../kernel/index.ts'

/** What agents are shown of skills and tools: few words each, since every one of them is paid for. */

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
