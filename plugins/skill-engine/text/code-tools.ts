import { compileCheck, isObject, type JsonObject } from '../../../kernel/index.ts'
import { brief, isToolName } from './names.ts'
import {
  castDefault, isType, parametersMax, schemaOfType, type EngineParameter, type EngineTool
} from './parameters.ts'

/** The most tools of a skill. */
export const toolsMax = 1_000
/** The most characters of a description. */
const descriptionMax = 8_192

/**
 * The tools that `getTools()` of a skill's code returned. What can't be offered is left out, with a note.
 * @param texts the tools in the skill's SKILL.md, which describe those that the code does not describe
 * @throws Error when it is no list, is too long, or has tools and none that can be offered
 */
export function toolsOfCode (
  value: unknown, texts: readonly EngineTool[]
): { tools: EngineTool[], notes: string[] } {
  if (!Array.isArray(value)) throw new Error('getTools() does not return a list of tools')
  if (value.length > toolsMax) throw new Error(`getTools() returns ${value.length} tools; the most is ${toolsMax}`)
  compiled.clear()
  const described = new Map(texts.map(tool => [tool.name, tool.description]))
  const tools = new Map<string, EngineTool>()
  const notes: string[] = []
  for (const item of value as unknown[]) {
    const { name, description, parameters } = isObject(item) ? item : {}
    if (!isToolName(name)) notes.push(`tool-name: ${shown(name)}`)
    else if (tools.has(name)) notes.push(`tool-name-taken: ${name}`)
    else {
      const own = typeof description === 'string' ? description.trim() : ''
      tools.set(name, {
        name,
        description: (own === '' ? described.get(name) ?? '' : own).slice(0, descriptionMax),
        parameters: parametersOf(name, parameters, notes)
      })
    }
  }
  for (const { name } of texts) if (!tools.has(name)) notes.push(`tool-not-in-code: ${name}`)
  return { tools: [...tools.values()], notes }
}

function shown (name: unknown): string {
  return typeof name === 'string' && name !== '' ? brief(name, 80) : '(none)'
}

function parametersOf (tool: string, value: unknown, notes: string[]): EngineParameter[] {
  if (!Array.isArray(value)) return []
  const found = new Map<string, EngineParameter>()
  for (const item of value.slice(0, parametersMax) as unknown[]) {
    const name = isObject(item) ? item['name'] : undefined
    if (!isObject(item) || typeof name !== 'string' || name === '' || name.length > 128 || name === '__proto__') {
      notes.push(`parameter-name: ${tool}.${shown(name)}`)
    } else if (found.has(name)) notes.push(`parameter-name-taken: ${tool}.${name}`)
    else found.set(name, parameterOf(item, name, word => { notes.push(`${word}: ${tool}.${name}`) }))
  }
  if (value.length > parametersMax) notes.push(`parameters-dropped: ${tool} (more than ${parametersMax})`)
  return [...found.values()]
}

function parameterOf (item: JsonObject, name: string, note: (word: string) => void): EngineParameter {
  const given = item['paramType'] ?? item['param_type'] ?? item['type'] ?? 'string'
  const word = typeof given === 'string' ? given.toLowerCase() : ''
  if (!isType(word)) note('type-unknown')
  const description = typeof item['description'] === 'string' ? item['description'].slice(0, descriptionMax) : ''
  const schema: JsonObject = { ...schemaOfType(word), description, ...validationOf(item['validation'], note) }
  const initial = item['defaultValue'] ?? item['default_value'] ?? item['default']
  if (initial !== undefined && initial !== null) {
    const value = castDefault(schema['type'], initial)
    if (value === undefined) note('default-dropped')
    else schema['default'] = value
  }
  return { name, required: item['required'] === true || item['required'] === 'true', schema }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)

/** The keywords that the kit adds, and whether a value of each can be used. */
const keywords: Readonly<Record<string, (value: unknown) => boolean>> = {
  minLength: isCount, maxLength: isCount, minimum: isNumber, maximum: isNumber,
  enum: value => Array.isArray(value) && value.length > 0 && value.length <= 1_000
    && value.every(item => ['string', 'number', 'boolean'].includes(typeof item))
    && new Set(value).size === value.length,
  pattern: value => compiles({ pattern: value }),
  format: value => compiles({ format: value })
}

function validationOf (value: unknown, note: (word: string) => void): JsonObject {
  if (!isObject(value)) return {}
  const usable = Object.entries(value).filter(([key, given]) => {
    const check = Object.hasOwn(keywords, key) ? keywords[key] : undefined
    if (check?.(given) === true) return true
    note(`validation-dropped (${brief(key, 40)})`)
    return false
  })
  return Object.fromEntries(usable)
}

/**
 * What `compiles` found out about the present skill, by the text of the keyword: finding out takes about a millisecond.
 */
const compiled = new Map<string, boolean>()
const compiledMax = 500

/**
 * Whether the server can check with a keyword: not every pattern can be checked in linear time. After very many
 * different ones, which no real skills have, the answer is no.
 */
function compiles (keyword: JsonObject): boolean {
  const text = JSON.stringify(keyword)
  let answer = compiled.get(text)
  if (answer === undefined && compiled.size < compiledMax) compiled.set(text, answer = canCompile(keyword))
  return answer === true
}

function canCompile (keyword: JsonObject): boolean {
  try {
    const properties = { value: { type: 'string', maxLength: 1_000, ...keyword } }
    compileCheck({ type: 'object', properties }, 'value')
    return true
  } catch {
    return false
  }
}
