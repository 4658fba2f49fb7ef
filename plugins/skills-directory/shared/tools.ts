import {
  compileCheck, compileInputSchema, didYouMean, type FROM_CLIENT, messageOf, type Check,
  type ConcurrencyRule, type JsonObject, type ParameterDescriptor, type RetryPolicy, type ToolAnnotations,
  type ToolDefinition
} from '../../../kernel/index.ts'
import { parseCommand } from '../../toolkit/parse-command.ts'
import { checkConcurrency } from './concurrency.ts'
import { checkApproval, checkEffects } from './effects.ts'
import { firstLine } from './files.ts'

/** A tool from a manifest or module, whose shape was checked. */
export interface ToolSource {
  name: string
  description: string
  timeout_ms?: number
  annotations?: ToolAnnotations
  retry?: RetryPolicy
  approval?: string
  concurrency?: ConcurrencyRule
  parameters: readonly ParameterSource[]
  rules?: JsonObject
  /** The command of a native tool. */
  command?: Parameters<typeof parseCommand>[0]
}

export interface ParameterSource extends JsonObject {
  name: string
  type: ParameterDescriptor['type']
  description: string
  required?: boolean
  secret?: boolean
  from_client?: typeof FROM_CLIENT[number]
  mcp_header?: string
}

/** A tool that can't be served, and the reason in one line. */
export interface BrokenTool { tool: string, error: string }

/** Names of properties that every JavaScript object has; tools with such names lead to mistakes. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Turns tools into definitions.
 * @throws Error in one line that names the tool and the parameter
 */
export function defineTools (sources: readonly ToolSource[]): ToolDefinition[] {
  const { tools, broken: [first] } = defineEach(sources)
  if (first !== undefined) throw new Error(first.error)
  return tools
}

/**
 * Turns tools into definitions, each separately: the fault of one tool is reported, and the other tools serve. Of two
 * tools with the same name, neither serves.
 */
export function defineEach (
  sources: readonly (ToolSource | BrokenTool)[]
): { tools: ToolDefinition[], broken: BrokenTool[] } {
  const tools: ToolDefinition[] = []
  const broken = new Map<string, BrokenTool>()
  const names = new Set<string>()
  const twice = new Set(sources.flatMap(source => {
    const name = nameOf(source)
    if (names.has(name)) return name
    names.add(name)
    return []
  }))
  for (const source of sources) {
    const name = nameOf(source)
    try {
      if (twice.has(name)) throw new Error(`tool "${name}": two tools have this name`)
      if ('error' in source) throw new Error(source.error)
      tools.push(defineOne(source))
    } catch (error) {
      broken.set(name, { tool: name, error: firstLine(messageOf(error)) })
    }
  }
  return { tools, broken: [...broken.values()] }
}

function nameOf (source: ToolSource | BrokenTool): string {
  return 'error' in source ? source.tool : source.name
}

function defineOne (source: ToolSource): ToolDefinition {
  if (reserved.has(source.name)) throw new Error(`tool "${source.name}": the name is reserved`)
  try {
    return defineTool(source)
  } catch (error) {
    throw new Error(`tool "${source.name}": ${messageOf(error)}`, { cause: error })
  }
}

function defineTool (
  {
    name, description, timeout_ms, annotations, retry, approval, concurrency, parameters: declared, rules, command
  }: ToolSource
): ToolDefinition {
  checkEffects(annotations, retry)
  checkApproval(approval, declared)
  if (concurrency !== undefined) checkConcurrency(concurrency, declared)
  const parameters = declared.map(parameter => ({ ...parameter, required: parameter.required ?? false }))
  checkParameters(parameters)
  const template = command && parseCommand(command, parameters)
  const shown = parameters.map(descriptor)
  const input_schema = compileInputSchema(shown, rules)
  // The parameters were compiled one by one. All together can differ only by references, or by rules for all of them.
  if (rules !== undefined || JSON.stringify(input_schema).includes('"$')) checkWhole(input_schema)
  return {
    name,
    description,
    parameters: shown,
    input_schema,
    ...(timeout_ms !== undefined && { timeout_ms }),
    ...(annotations !== undefined && { annotations }),
    ...(retry !== undefined && { retry }),
    ...(approval !== undefined && { approval }),
    ...(concurrency !== undefined && { concurrency }),
    secrets: parameters.filter(parameter => parameter.secret === true).map(parameter => parameter.name),
    ...(template !== undefined && { command: template })
  }
}

function checkParameters (parameters: readonly (ParameterSource & { required: boolean })[]): void {
  const seen = new Set<string>()
  const headers = new Set<string>()
  for (const parameter of parameters) {
    if (seen.has(parameter.name)) throw new Error(`parameter "${parameter.name}": two parameters have this name`)
    seen.add(parameter.name)
    const header = parameter.mcp_header?.toLowerCase()
    if (header !== undefined && headers.has(header)) {
      throw new Error(`parameter "${parameter.name}": two parameters have this mcp_header`)
    }
    if (header !== undefined) headers.add(header)
    try {
      checkParameter(parameter)
    } catch (error) {
      throw new Error(`parameter "${parameter.name}": ${error instanceof Error ? firstLine(error.message) : String(error)}`, { cause: error })
    }
  }
}

function checkWhole (input_schema: JsonObject): void {
  if (JSON.stringify(input_schema).includes('"__proto__"')) throw new Error('a key "__proto__" is not allowed')
  try {
    compileCheck(input_schema, 'parameters')
  } catch (error) {
    throw new Error(explain(firstLine(messageOf(error))), { cause: error })
  }
}

/** The description of a parameter for users. It leaves out how a value is passed on a command line. */
function descriptor ({ name, type, description, required, secret, allow_dash: _dash, ...keywords }: ParameterSource & {
  required: boolean
}): ParameterDescriptor {
  return { name, type, description, required, ...(secret === true && { secret }), ...keywords }
}

function checkParameter (parameter: ParameterSource & { required: boolean }): void {
  if (parameter.name === '__proto__') throw new Error('the name is reserved')
  if (!parameter.name.isWellFormed()) throw new Error('the name has half of a surrogate pair, which is no character')
  if (parameter.required && 'default' in parameter) throw new Error('a required parameter can\'t have a default')
  const {
    name: _name, description: _description, required: _required, secret: _secret, allow_dash: _dash, from_client,
    mcp_header, default: initial, ...keywords
  } = parameter
  if (from_client !== undefined) checkFilled(from_client, parameter, initial)
  if (mcp_header !== undefined && !['string', 'integer', 'boolean'].includes(parameter.type)) {
    throw new Error('only a string, an integer or a boolean can have an mcp_header')
  }
  const check = checkOf(keywords)
  if (typeof check === 'string') throw new Error(check)
  if (initial === undefined || check === undefined) return
  const mismatch = check({ value: typeof initial === 'object' ? structuredClone(initial) : initial })
  if (mismatch !== undefined) {
    throw new Error(`the default does not fit the parameter: ${mismatch.replace('default/value', 'default')}`)
  }
}

/** Checks that a parameter with `from_client` is optional: other callers have no such value. */
function checkFilled (
  from_client: NonNullable<ParameterSource['from_client']>,
  { type, required }: ParameterSource,
  initial: unknown
): void {
  const fits = from_client === 'state' ? 'string' : 'object'
  if (type !== fits) throw new Error(`from_client = "${from_client}" needs the type "${fits}"`)
  if (required || initial !== undefined) {
    throw new Error('what the client fills in can be neither required nor have a default')
  }
}

function schemaOf (keywords: JsonObject): JsonObject {
  return compileInputSchema([
    { ...keywords, name: 'value', type: 'string', description: '', required: false, ...keywords }
  ])
}

/**
 * The checks of parameters' schemas, or the faults in the schemas, by the schema's text: many parameters have the same
 * schema, and compiling one takes milliseconds.
 */
const checks = new Map<string, Check | string | undefined>()

/**
 * @returns the check, or the fault of the schema; undefined when it can only be checked with the whole tool, since a
 * reference may lead out of the parameter
 */
function checkOf (keywords: JsonObject): Check | string | undefined {
  const text = JSON.stringify(keywords)
  if (text.includes('"__proto__"')) return 'a key "__proto__" is not allowed'
  if (checks.has(text)) return checks.get(text)
  let check: Check | string | undefined
  try {
    if (!text.includes('"$')) check = compileCheck(schemaOf(keywords), 'default')
  } catch (error) {
    check = explain(error instanceof Error ? error.message : String(error))
  }
  checks.set(text, check)
  return check
}

const keywordsKnown = [
  'type', 'description', 'required', 'secret', 'allow_dash', 'from_client', 'mcp_header', 'default', 'enum', 'const',
  'title', 'examples', 'format', 'pattern',
  'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'items',
  'prefixItems', 'minItems',
  'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains', 'properties', 'patternProperties',
  'additionalProperties',
  'propertyNames', 'minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas', 'anyOf', 'allOf', 'oneOf',
  'not', 'if', 'then', 'else',
  'deprecated', 'readOnly', 'writeOnly'
]

/** The schema compiler's message in terms that a skill's author knows. */
function explain (message: string): string {
  const [, keyword] = /^strict mode: unknown keyword: "(.*)"$/.exec(message) ?? []
  if (keyword !== undefined) return `has an unknown key "${keyword}"${didYouMean(keyword, keywordsKnown)}`
  if (message.startsWith('error parsing regexp: ')) {
    return `its pattern can't be used (RE2 syntax, without lookaround and backreferences): ${message.slice('error parsing regexp: '.length)}`
  }
  return message.replace(/^schema is invalid: data\/properties\/value\//, '')
    .replace(/ ignored in schema at path .*$/, '')
}
