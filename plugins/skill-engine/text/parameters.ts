import type { JsonObject } from '../../../kernel/index.ts'

/** A parameter of a tool: its JSON Schema, with its description, and with its default where one fits. */
export interface EngineParameter { name: string, required: boolean, schema: JsonObject }

/** A tool, as its skill describes it. */
export interface EngineTool { name: string, description: string, parameters: EngineParameter[] }

/** The most parameters of a tool. */
export const parametersMax = 200

/** The JSON type of each type that a skill may write. */
const types: ReadonlyMap<string, JsonObject['type']> = new Map(Object.entries({
  string: 'string', file: 'string', secret: 'string', integer: 'integer', int: 'integer', number: 'number',
  float: 'number', boolean: 'boolean', bool: 'boolean', array: 'array', list: 'array', object: 'object', json: 'object'
}))

/** Whether this text names a type. */
export function isType (text: string): boolean {
  return types.has(text)
}

/** The schema of a type, without a description; that of a string for a type that nobody knows. */
export function schemaOfType (text: string): JsonObject {
  const type = types.get(text) ?? 'string'
  return {
    type, ...(type === 'array' && { items: { type: 'string' } }), ...(text === 'secret' && { secret: true })
  }
}

/**
 * A default that was written as text, as a value of the type.
 * @returns undefined when it does not fit
 */
export function castDefault (type: unknown, value: unknown): unknown {
  if (typeof value !== 'string') return fits(type, value) ? value : undefined
  const text = value.trim()
  switch (type) {
    case 'integer': return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined
    case 'number': return text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
    case 'boolean': return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined
    case 'array': return text.startsWith('[') ? castJson('array', text) : text.split(',').map(item => item.trim())
    case 'object': return castJson('object', text)
    default: return value
  }
}

function castJson (type: 'array' | 'object', text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return fits(type, value) ? value : undefined
  } catch {
    return undefined
  }
}

function fits (type: unknown, value: unknown): boolean {
  switch (type) {
    case 'integer': return Number.isSafeInteger(value)
    case 'number': return typeof value === 'number' && Number.isFinite(value)
    case 'boolean': return typeof value === 'boolean'
    case 'array': return Array.isArray(value) && value.every(item => typeof item === 'string')
    // The code of the kit uses this file, and gets nothing of the kernel.
    case 'object': return typeof value === 'object' && value !== null && !Array.isArray(value)
    default: return typeof value === 'string'
  }
}

/** The parameters of a tool as one JSON Schema. */
export function schemaOf (parameters: readonly EngineParameter[]): JsonObject {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name)
  }
}
