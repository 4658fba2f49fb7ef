import { instanceName, isObject, splitInstance, type JsonObject, type Skill, type Tool } from '../../../kernel/index.ts'
import type { DirectTool } from './direct-tool.ts'

/**
 * A tool of a skill with instances, shown once: it has a further parameter that names the instance, so that an agent
 * reads its description once.
 */
export function withInstanceParameter ({ name: skill_name, instances = [] }: Skill, tool: Tool): DirectTool {
  const names = instances.map(({ name }) => splitInstance(name).instance ?? '')
  const preset = instances.find(instance => instance.default === true)
  const initial = preset === undefined ? undefined : splitInstance(preset.name).instance
  const properties = isObject(tool.input_schema['properties']) ? tool.input_schema['properties'] : {}
  const required = Array.isArray(tool.input_schema['required']) ? tool.input_schema['required'] : []
  let parameter = 'instance'
  while (Object.hasOwn(properties, parameter)) parameter = `_${parameter}`
  const about = instances.flatMap(({ description }, i) =>
    description === undefined ? [] : [`${names[i]}: ${description}`])
  const schema = {
    type: 'string' as const, enum: names, ...(initial !== undefined && { default: initial }),
    description: ['Which configuration of the skill to use', ...about].join('; ')
  }
  const isRequired = initial === undefined && names.length > 1
  return {
    skill_name,
    tool_name: tool.name,
    instance_parameter: parameter,
    tool: {
      ...tool,
      parameters: [...tool.parameters, { name: parameter, required: isRequired, ...schema }],
      input_schema: {
        ...tool.input_schema,
        properties: { ...properties, [parameter]: schema },
        ...((isRequired || required.length > 0) && { required: isRequired ? [...required, parameter] : required })
      }
    }
  }
}

/** The skill that a call runs, and the parameters without the one that names the instance. */
export function instanceOf (
  { skill_name, instance_parameter }: DirectTool, sent: JsonObject
): { skill_name: string, parameters: JsonObject } {
  if (instance_parameter === undefined || !Object.hasOwn(sent, instance_parameter)) {
    return { skill_name, parameters: sent }
  }
  const { [instance_parameter]: instance, ...parameters } = sent
  const name = typeof instance === 'string' ? instance : JSON.stringify(instance)
  return { skill_name: instanceName(skill_name, name), parameters }
}
