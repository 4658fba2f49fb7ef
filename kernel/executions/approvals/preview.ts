import type { JsonObject } from '../../contracts/schemas.ts'
import type { ToolDefinition } from '../../contracts/skill.ts'

/** The longest value of a parameter in a preview, in characters. */
const valueMax = 500

/**
 * What a tool says that it would do with these parameters; undefined where it says nothing.
 * @param parameters those of the record, without secrets
 */
export function previewOf ({ approval }: Pick<ToolDefinition, 'approval'>, parameters: JsonObject): string | undefined {
  return approval?.replaceAll(/\{\{([^{}]*)\}\}/g, (_whole, name: string) => {
    const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
    return text.length > valueMax ? `${text.slice(0, valueMax)}…` : text
  })
}
