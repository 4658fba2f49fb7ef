import { agentParameters, isObject, type JsonObject, type Tool } from '../../../kernel/index.ts'

/** How skills and tools are described to agents: in few words, since every word costs tokens. */

/** An example of a call of a tool, with the required parameters and a value of the right kind for each. */
export function exampleOf (
  skill_name: string,
  tool: Pick<Tool, 'name' | 'parameters'>
): { skill_name: string, tool_name: string, parameters: JsonObject } {
  const required = agentParameters(tool).filter(parameter => parameter.required)
  return {
    skill_name,
    tool_name: tool.name,
    parameters: Object.fromEntries(required.map(parameter => [parameter.name, valueOf(parameter)]))
  }
}

/** A value that fits a schema, or nearly fits it. */
function valueOf (schema: JsonObject): unknown {
  const { type, examples, example, default: preset, enum: allowed, minimum, items } = schema
  for (const values of [examples, [example], [preset], allowed]) {
    if (Array.isArray(values) && values[0] !== undefined) return values[0]
  }
  switch (type) {
    case 'integer':
    case 'number': return typeof minimum === 'number' ? minimum : 1
    case 'boolean': return true
    case 'array': return [valueOf(isObject(items) ? items : {})]
    case 'object': return {}
    default: return '…'
  }
}

/** Takes items while their JSON fits in a budget of characters; the first item is always taken. */
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
