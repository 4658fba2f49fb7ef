import {
  isObject, messageOf, type JsonObject, type ParameterDescriptor, type ToolAnnotations, type ToolDefinition
} from '../../../kernel/index.ts'
import { firstLine } from '../shared/files.ts'
import type { BrokenTool } from '../shared/tools.ts'
import { inputSchemaOf } from './tool-schema.ts'
import { isChosen, toolNames } from './tool-names.ts'

/** The number of tools of one server that serve, and of parameters of one tool. */
const toolsMax = 1_000
const parametersMax = 256
const descriptionMax = 16_384

export interface Choice { include?: readonly string[], exclude?: readonly string[], timeout_ms?: number }

export interface DefinedTools { tools: ToolDefinition[], broken: BrokenTool[], notes: string[] }

/** Makes tools of what a server lists. A tool that can't be used is broken; all others serve. */
export function defineMcpTools (listed: readonly JsonObject[], choice: Choice): DefinedTools {
  const defined: DefinedTools = { tools: [], broken: [], notes: [] }
  const chosen = new Map<string, JsonObject>()
  listed.forEach((tool, index) => {
    const { name } = tool
    if (typeof name !== 'string' || name === '' || !name.isWellFormed()) {
      defined.broken.push({ tool: `tools/${index}`, error: 'the server lists a tool without a usable name' })
    } else if (isChosen(name, choice)) {
      if (chosen.has(name)) defined.notes.push(
        `the server lists two tools named "${short(name)}"; the first one serves`
      )
      else chosen.set(name, tool)
    }
  })
  if (chosen.size > toolsMax) {
    defined.notes.push(`the server lists ${chosen.size} tools, of which the first ${toolsMax} serve; choose others with include and exclude in [mcp]`)
  }
  const served = [...chosen].slice(0, toolsMax)
  const names = toolNames(served.map(([original]) => original))
  for (const [original, tool] of served) {
    const name = names.get(original) ?? original
    try {
      defined.tools.push(defineTool(name, original, tool, choice.timeout_ms))
    } catch (error) {
      defined.broken.push({ tool: name, error: firstLine(messageOf(error)) })
    }
  }
  return defined
}

function defineTool (name: string, original: string, tool: JsonObject, timeout_ms: number | undefined): ToolDefinition {
  const { annotations, description, title } = tool
  const input_schema = inputSchemaOf(tool['inputSchema'])
  return {
    name,
    description: firstText(description, title, isObject(annotations) ? annotations['title'] : undefined, original),
    parameters: parametersOf(input_schema),
    input_schema,
    ...(timeout_ms !== undefined && { timeout_ms }),
    ...(isObject(annotations) && annotationsOf(annotations)),
    secrets: [],
    target: { name: original }
  }
}

const hints = {
  readOnlyHint: 'read_only', destructiveHint: 'destructive', idempotentHint: 'idempotent', openWorldHint: 'open_world'
} as const satisfies Record<string, keyof ToolAnnotations>

/** The hints of the server about a tool, as annotations. */
function annotationsOf (listed: JsonObject): { annotations?: ToolAnnotations } {
  const annotations: ToolAnnotations = {}
  for (const [hint, name] of Object.entries(hints)) {
    const value = listed[hint]
    if (typeof value === 'boolean') annotations[name] = value
  }
  return Object.keys(annotations).length === 0 ? {} : { annotations }
}

/** The parameters as they are shown; the schema is what is checked. */
function parametersOf (schema: JsonObject): ParameterDescriptor[] {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
  if (properties.length > parametersMax) throw new Error(`it has more than ${parametersMax} parameters`)
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  return properties.map(([name, property]) => {
    const keywords = isObject(property) ? property : {}
    const { type: _type, description, ...rest } = keywords
    return {
      name,
      type: typeOf(keywords, schema, 8),
      description: firstText(description, keywords['title'], name),
      required: required.has(name),
      ...rest
    }
  })
}

/** The type that a value of the schema mostly has. */
function typeOf (schema: JsonObject, root: JsonObject, depth: number): ParameterDescriptor['type'] {
  const own = [schema['type']].flat().find(isType)
  if (own !== undefined) return own
  const { const: constant, enum: choices, properties, items, anyOf, oneOf, allOf, $ref } = schema
  const [value] = Array.isArray(choices) ? choices as unknown[] : [constant]
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return typeof value as 'string' | 'number' | 'boolean' // these are names of types, too
  }
  if (properties !== undefined) return 'object'
  if (items !== undefined) return 'array'
  const others = [$ref === undefined ? [] : [referred(root, $ref)], anyOf ?? [], oneOf ?? [], allOf ?? []].flat()
  if (depth > 0) {
    for (const other of others) if (isObject(other) && other['type'] !== 'null') return typeOf(other, root, depth - 1)
  }
  return 'string'
}

function referred (root: JsonObject, reference: unknown): unknown {
  if (typeof reference !== 'string') return undefined
  let value: unknown = root
  for (const part of reference.split('/').slice(1)) {
    value = isObject(value) ? value[decodePart(part)] : undefined
  }
  return value
}

function decodePart (part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return part
  }
}

function isType (type: unknown): type is ParameterDescriptor['type'] {
  return typeof type === 'string' && ['string', 'integer', 'number', 'boolean', 'array', 'object'].includes(type)
}

function firstText (...candidates: unknown[]): string {
  const text = candidates.find(candidate => typeof candidate === 'string' && candidate.trim() !== '')
  return typeof text === 'string' ? text.trim().slice(0, descriptionMax) : ''
}

function short (name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name
}
