import { compileInputSchema, type ParameterDescriptor, type ToolDefinition } from '../../../kernel/index.ts'
import type { EngineParameter, EngineTool } from '../text/parameters.ts'

/** How a tool is run, and by which executor where that is not the engine's own. */
export type Way = Pick<ToolDefinition, 'runtime' | 'command' | 'target'>

/** The definition of a tool. */
export function defineTool ({ name, description, parameters }: EngineTool, way: Way): ToolDefinition {
  const descriptors = parameters.map(descriptorOf)
  return {
    name,
    description,
    parameters: descriptors,
    input_schema: compileInputSchema(descriptors),
    secrets: parameters.filter(({ schema }) => schema['secret'] === true).map(parameter => parameter.name),
    ...way
  }
}

/**
 * A parameter without its default, which is told in the description: the kernel fills in defaults, and these skills
 * have their own for what a call does not give.
 */
function descriptorOf ({ name, required, schema }: EngineParameter): ParameterDescriptor {
  const { type, description, default: initial, ...keywords } = schema
  const text = typeof description === 'string' ? description : ''
  const told = initial === undefined || /\bdefault[:=]/i.test(text)
    ? text
    : `${text} (default: ${typeof initial === 'string' ? initial : JSON.stringify(initial)})`.trim()
  return {
    name,
    type: type as ParameterDescriptor['type'], // `schemaOfType` made it
    description: told,
    required,
    ...keywords
  }
}
