import { compileCheck, compileInputSchema, didYouMean, parseCommand, type JsonObject, type ParameterDescriptor, type ToolDefinition } from '../../kernel/index.ts'
import { firstLine } from './files.ts'

/** A tool as a manifest or module gives it, its shape checked. */
export interface ToolSource {
  name: string
  description: string
  timeout_ms?: number
  parameters: readonly ParameterSource[]
  /** Of native tools. */
  command?: Parameters<typeof parseCommand>[0]
}

export interface ParameterSource extends JsonObject {
  name: string
  type: ParameterDescriptor['type']
  description: string
  required?: boolean
  secret?: boolean
}

/** Names that mean something to every JavaScript object; a value of that name invites mistakes. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Turns tools into definitions.
 * @throws Error in one line that names the tool and the parameter
 */
export function defineTools (sources: readonly ToolSource[]): ToolDefinition[] {
  const names = new Set<string>()
  return sources.map(source => {
    if (reserved.has(source.name)) throw new Error(`tool "${source.name}": the name is reserved`)
    if (names.has(source.name)) throw new Error(`tool "${source.name}": two tools have this name`)
    names.add(source.name)
    try {
      return defineTool(source)
    } catch (error) {
      throw new Error(`tool "${source.name}": ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  })
}

function defineTool ({ name, description, timeout_ms, parameters: given, command }: ToolSource): ToolDefinition {
  const parameters = given.map(parameter => ({ ...parameter, required: parameter.required ?? false }))
  const seen = new Set<string>()
  for (const parameter of parameters) {
    if (seen.has(parameter.name)) throw new Error(`parameter "${parameter.name}": two parameters have this name`)
    seen.add(parameter.name)
    try {
      checkParameter(parameter)
    } catch (error) {
      throw new Error(`parameter "${parameter.name}": ${error instanceof Error ? firstLine(error.message) : String(error)}`, { cause: error })
    }
  }
  const template = command && parseCommand(command, parameters)
  const shown = parameters.map(descriptor)
  const input_schema = compileInputSchema(shown)
  // The parameters were compiled one by one; together they can only differ where one refers to another.
  if (JSON.stringify(input_schema).includes('"$')) compileCheck(input_schema, 'parameters')
  return {
    name,
    description,
    parameters: shown,
    input_schema,
    ...(timeout_ms !== undefined && { timeout_ms }),
    secrets: parameters.filter(parameter => parameter.secret === true).map(parameter => parameter.name),
    ...(template !== undefined && { command: template })
  }
}

/** What users see of a parameter. How a value is put on a command line is not their concern. */
function descriptor ({ name, type, description, required, secret, allow_dash: _dash, ...keywords }: ParameterSource & { required: boolean }): ParameterDescriptor {
  return { name, type, description, required, ...(secret === true && { secret }), ...keywords }
}

function checkParameter (parameter: ParameterSource & { required: boolean }): void {
  if (reserved.has(parameter.name)) throw new Error('the name is reserved')
  if (parameter.required && 'default' in parameter) throw new Error('a required parameter can\'t have a default')
  const { name: _name, description: _description, required: _required, secret: _secret, allow_dash: _dash, default: initial, ...keywords } = parameter
  const wrong = problemOf(keywords)
  if (wrong !== undefined) throw new Error(wrong)
  if (initial === undefined) return
  const mismatch = compileCheck(schemaOf(keywords), 'default')(structuredClone({ value: initial }))
  if (mismatch !== undefined) throw new Error(`the default does not fit the parameter: ${mismatch.replace('default/value', 'default')}`)
}

function schemaOf (keywords: JsonObject): JsonObject {
  return compileInputSchema([{ ...keywords, name: 'value', type: 'string', description: '', required: false, ...keywords }])
}

/** What is wrong with a parameter's schema, by its text: many parameters have the same, and compiling one takes a millisecond. */
const problems = new Map<string, string | undefined>()

function problemOf (keywords: JsonObject): string | undefined {
  const text = JSON.stringify(keywords)
  if (text.includes('"__proto__"')) return 'a key "__proto__" is not allowed'
  if (problems.has(text)) return problems.get(text)
  let problem: string | undefined
  try {
    // A reference may lead out of the parameter; then only the whole tool can tell.
    if (!text.includes('"$')) compileCheck(schemaOf(keywords), 'value')
  } catch (error) {
    problem = explain(error instanceof Error ? error.message : String(error))
  }
  problems.set(text, problem)
  return problem
}

const keywordsKnown = [
  'type', 'description', 'required', 'secret', 'allow_dash', 'default', 'enum', 'const', 'title', 'examples', 'format', 'pattern',
  'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'items', 'prefixItems', 'minItems',
  'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains', 'properties', 'patternProperties', 'additionalProperties',
  'propertyNames', 'minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas', 'anyOf', 'allOf', 'oneOf', 'not', 'if', 'then', 'else',
  'deprecated', 'readOnly', 'writeOnly'
]

/** The schema compiler's message in the words of a skill's author. */
function explain (message: string): string {
  const [, keyword] = /^strict mode: unknown keyword: "(.*)"$/.exec(message) ?? []
  if (keyword !== undefined) return `has an unknown key "${keyword}"${didYouMean(keyword, keywordsKnown)}`
  if (message.startsWith('error parsing regexp: ')) return `its pattern can't be used (RE2 syntax, without lookaround and backreferences): ${message.slice('error parsing regexp: '.length)}`
  return message.replace(/^schema is invalid: data\/properties\/value\//, '').replace(/ ignored in schema at path .*$/, '')
}
