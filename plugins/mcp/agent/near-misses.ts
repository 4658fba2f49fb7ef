import {
  decodeJson, isObject, messageOf, SkilletError, type JsonObject, type SkillCatalog
} from '../../../kernel/index.ts'

/** The parameter that holds all `parameters` as JSON text, for clients that can't send names of their own. */
export const parametersJson = 'parameters_json'

/** The separators that models write between the names of a skill and a tool when they put both in one field. */
const separators = [':', '/', '.'] as const

type Lookup = Pick<SkillCatalog, 'skill' | 'tool'>

/**
 * Corrects a call of `execute` with mistakes that models often make: both names in one field, or parameters as JSON
 * text or null. Exact names come first. Other mistakes stay as they are, and the check that follows refuses them.
 * @throws SkilletError INVALID_PARAMETERS when the parameters are a text that is not a JSON object
 */
export function correctCall (catalog: Lookup, input: JsonObject): JsonObject {
  const names = namesIn(catalog, input['skill_name'], input['tool_name'])
  return { ...input, ...names, parameters: parametersIn(catalog, names, input['parameters']) }
}

interface Names { skill_name?: unknown, tool_name?: unknown }

function namesIn (catalog: Lookup, skill_name: unknown, tool_name: unknown): Names {
  if (isToolIn(catalog, skill_name, tool_name)) return { skill_name, tool_name }
  for (const both of [tool_name, skill_name]) {
    for (const separator of typeof both === 'string' ? separators : []) {
      const [skill = '', ...rest] = String(both).split(separator)
      const tool = rest.join(separator)
      if (skill === '' || tool === '') continue
      // If a field holds another name, the model meant another tool.
      const fits = isAbsentOr([skill, both], skill_name) && isAbsentOr([tool, both], tool_name)
      if (fits && (separator !== '.' || exists(() => catalog.skill(skill)))) {
        return { skill_name: skill, tool_name: tool }
      }
    }
  }
  return { ...(skill_name !== undefined && { skill_name }), ...(tool_name !== undefined && { tool_name }) }
}

function isAbsentOr (meant: readonly unknown[], name: unknown): boolean {
  return name === undefined || name === null || name === '' || meant.includes(name)
}

function parametersIn (catalog: Lookup, { skill_name, tool_name }: Names, sent: unknown): unknown {
  const details = { skill: skill_name, tool: tool_name }
  const tool = isToolIn(catalog, skill_name, tool_name)
    ? catalog.tool(String(skill_name), String(tool_name)).tool
    : undefined
  const parameters = readText(sent, 'parameters', details)
  if (!isObject(parameters)) return parameters
  const isOwn = tool?.parameters.some(({ name }) => name === parametersJson) === true
  const named = isOwn ? parameters : withText(parameters, details)
  return tool === undefined ? named : withoutNulls(tool.input_schema, named)
}

/** Merges the parameters in the JSON text with the named parameters. */
function withText ({ [parametersJson]: text, ...named }: JsonObject, details: JsonObject): JsonObject {
  const read = readText(text, `parameters/${parametersJson}`, details)
  return isObject(read) ? { ...read, ...named } : { [parametersJson]: text, ...named }
}

/**
 * Returns an object as it is, or parses it from JSON; an absent value means no parameters. Other values stay as they
 * are, and the later check refuses them.
 */
function readText (input: unknown, where: string, details: JsonObject): unknown {
  if (input === undefined || input === null || input === '') return {}
  if (typeof input !== 'string') return input
  let value: unknown
  try {
    value = decodeJson(Buffer.from(input))
  } catch (error) {
    throw new SkilletError('INVALID_PARAMETERS', messageOf(error).replace(/^body/, where), details)
  }
  if (!isObject(value)) {
    throw new SkilletError('INVALID_PARAMETERS', `${where} must be object, or the JSON of one`, details)
  }
  return value
}

/**
 * A copy without the fields that are null, where the schema does not allow null and does not require the field. Models
 * that must name every field use null to leave a field out.
 */
export function withoutNulls (
  { properties, required }: { properties?: unknown, required?: unknown },
  parameters: JsonObject
): JsonObject {
  if (!Object.values(parameters).includes(null) || !isObject(properties)) return parameters
  const needed = Array.isArray(required) ? required : []
  return Object.fromEntries(Object.entries(parameters).filter(([name, value]) => {
    if (value !== null || !Object.hasOwn(properties, name)) return true
    const schema = properties[name]
    return takesNull(schema) || (needed.includes(name) && !(isObject(schema) && 'default' in schema))
  }))
}

function takesNull (schema: unknown): boolean {
  if (!isObject(schema)) return true
  const { type, enum: values, const: value, anyOf, oneOf } = schema
  if (Array.isArray(values)) return values.includes(null)
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'))
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  return choices === undefined ? value === undefined || value === null : choices.some(takesNull)
}

function isToolIn (catalog: Lookup, skill_name: unknown, tool_name: unknown): boolean {
  return typeof skill_name === 'string'
    && typeof tool_name === 'string'
    && exists(() => catalog.tool(skill_name, tool_name))
}

function exists (look: () => unknown): boolean {
  try {
    look()
    return true
  } catch {
    return false
  }
}
