import type { ParameterItem } from './parameter-text.ts'
import { parametersMax, type EngineParameter } from './parameters.ts'

/**
 * The parameters of each tool, with those that it takes from other tools, which stand where their line stands. A direct
 * one wins; a circle ends.
 * @returns the notes about tools that are not there
 */
export function inheritAll (
  tools: ReadonlyMap<string, readonly ParameterItem[]>
): { parameters: Map<string, EngineParameter[]>, notes: string[] } {
  const parameters = new Map<string, EngineParameter[]>()
  const notes: string[] = []
  const resolve = (tool: string): EngineParameter[] => {
    const known = parameters.get(tool)
    if (known !== undefined) return known
    parameters.set(tool, []) // what a circle comes back to
    const items = tools.get(tool) ?? []
    const direct = new Set(items.flatMap(item => 'parameter' in item ? [item.parameter.name] : []))
    const found = new Map<string, EngineParameter>()
    for (const item of items) {
      if ('parameter' in item) {
        if (!found.has(item.parameter.name)) found.set(item.parameter.name, item.parameter)
        continue
      }
      if (!tools.has(item.inherit)) notes.push(`inherits-unknown: ${tool} from ${item.inherit}`)
      for (const parameter of resolve(item.inherit)) {
        if (!direct.has(parameter.name) && !found.has(parameter.name)) found.set(parameter.name, parameter)
      }
    }
    if (found.size > parametersMax) notes.push(`parameters-dropped: ${tool} (more than ${parametersMax})`)
    const whole = [...found.values()].slice(0, parametersMax)
    parameters.set(tool, whole)
    return whole
  }
  for (const tool of tools.keys()) resolve(tool)
  return { parameters, notes }
}
