import {
  coerceText, decodeJson, execute, getExecution, getSkill, isObject, messageOf, parameterLines, SkilletError, type Call,
  type Gateway, type JsonObject, type Tool
} from '../../../kernel/index.ts'
import { Activity } from '../terminal/activity.ts'
import { recording } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { steady } from '../terminal/layout.ts'
import { equalsOf, findTool, splitTarget, usage } from '../options/target.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

const define: DefineCommand = (command, context) => {
  command
    .argument('<skill:tool>', 'the tool, such as git:log')
    .argument('[name=value...]', 'its parameters; name=- reads the value from standard input')
    .option('--params <json>', 'its parameters as a JSON object; - reads it from standard input')
    .option('--timeout <ms>', 'time limit in milliseconds')
  actWithKernel<RunOptions>(command, context, {
    needs: recording,
    only: ([target = '']) => splitTarget(target).skill_name,
    act: ({ gateway }, options, [target = '', ...pairs]) =>
      run(gateway, target, pairs, options, context.terminal, context.signal)
  })
}
export default define

interface RunOptions {
  json?: boolean
  /** The parameters as a JSON object, or `-` to read it from standard input. */
  params?: string
  /** The timeout in milliseconds. */
  timeout?: string
}

/** The bytes that are read from standard input at most. */
const inputBytesMax = 1_048_576

/**
 * `skillet run SKILL:TOOL NAME=VALUE…`: runs a tool and prints its output on standard output, while it runs if the
 * executor supports that.
 * @throws SkilletError
 */
async function run (
  gateway: Gateway,
  target: string,
  pairs: readonly string[],
  { json = false, params, timeout }: RunOptions,
  terminal: Terminal,
  signal: AbortSignal
): Promise<void> {
  const { skill_name, tool_name } = splitTarget(target)
  if (skill_name === '' || tool_name === '') {
    throw invalid(`"${target}" names no tool; write SKILL:TOOL, such as text:count`)
  }
  const skill = await gateway.invoke(getSkill, { name: skill_name }, { transport: 'cli', signal })
  if (tool_name === undefined) {
    throw invalid(`"${target}" is a skill; write SKILL:TOOL with one of its tools: ${skill.tools.map(({ name }) => name).join(', ')}`)
  }
  const tool = await findTool(gateway, skill, tool_name, { transport: 'cli', signal })
  const input = once(() => terminal.input(inputBytesMax, signal))
  const parameters = { ...await readParams(params, input), ...await readPairs(pairs, tool, input) }
  const request = {
    skill_name,
    tool_name,
    parameters,
    ...(timeout !== undefined && { timeout_ms: coerceText({ type: 'integer' }, timeout) })
  }
  const call: Call = { transport: 'cli', signal: AbortSignal.any([signal, terminal.unread]) }
  const shown = new Shown(gateway, `${skill_name}:${tool_name}`, terminal, !json)
  try {
    const result = await gateway.invoke(execute, request, call)
    shown.end()
    if (json) terminal.out(`${JSON.stringify(result)}\n`)
    else shown.finish(result.output)
  } catch (error) {
    shown.end()
    if (!json && error instanceof SkilletError) shown.finish(await outputSoFar(gateway, error, call))
    throw withUsage(error, skill_name, tool)
  }
}

/** Adds to an error about parameters the parameters of the tool, and an example of a call. */
function withUsage (error: unknown, skill_name: string, tool: Tool): unknown {
  if (!(error instanceof SkilletError) || error.code !== 'INVALID_PARAMETERS' || error.details['tool'] !== tool.name) {
    return error
  }
  const lines = parameterLines(tool).map(line => `\n- ${line}`).join('')
  const named = lines === ''
    ? `${skill_name}:${tool.name} takes no parameters`
    : `Parameters of ${skill_name}:${tool.name}:${lines}`
  return new SkilletError(
    error.code,
    `${error.message}\n${named}\nSuch as: ${`skillet run ${skill_name}:${tool.name} ${usage(tool)}`.trim()}`,
    error.details
  )
}

/** Shows progress, log lines and output of a run while it lasts. */
class Shown {
  readonly #activity: Activity
  readonly #terminal: Terminal
  readonly #stops: (() => void)[]
  /** The number of characters of the output that are printed. */
  #printed = 0

  /** @param live whether output is printed while the tool runs */
  constructor ({ bus }: Gateway, name: string, terminal: Terminal, live: boolean) {
    const activity = this.#activity = new Activity(terminal, name)
    this.#terminal = terminal
    this.#stops = [
      bus.on('log', ({ level, text }) => { activity.log(level, text) }),
      bus.on('progress', ({ done, total, message }) => { activity.progress(done, total, message) }),
      ...(live ? [bus.on('output', ({ text }) => { this.#print(text) })] : [])
    ]
  }

  end (): void {
    for (const stop of this.#stops) stop()
    this.#activity.end()
  }

  /** Prints the rest of the output, and ends its last line. */
  finish (output: string): void {
    this.#print(output.slice(this.#printed))
    if (this.#printed > 0 && !output.endsWith('\n')) this.#terminal.out('\n')
  }

  #print (text: string): void {
    this.#printed += text.length
    this.#activity.wrote(text)
    this.#terminal.out(this.#terminal.shown ? steady(text) : text)
  }
}

/** The output of a tool before it failed. */
async function outputSoFar (
  gateway: Gateway,
  { details: { execution_id } }: SkilletError,
  call: Call
): Promise<string> {
  if (typeof execution_id !== 'string') return ''
  return await gateway.invoke(getExecution, { id: execution_id }, call).then(({ output }) => output, () => '')
}

async function readParams (params: string | undefined, input: () => Promise<string>): Promise<JsonObject> {
  if (params === undefined) return {}
  const text = params === '-' ? await input() : params
  let value
  try {
    value = decodeJson(Buffer.from(text))
  } catch (error) {
    throw invalid(`--params: ${error instanceof Error ? error.message.replace(/^body /, '') : 'is not valid JSON'}`)
  }
  if (!isObject(value)) throw invalid('--params must be a JSON object, such as \'{"text": "hello"}\'')
  return { ...value }
}

/**
 * Converts values such as `count=5` to the type in the tool's schema. A value that does not fit is left to the
 * validation, which refuses it.
 */
async function readPairs (
  pairs: readonly string[],
  { input_schema, parameters }: Tool,
  input: () => Promise<string>
): Promise<JsonObject> {
  const properties = isObject(input_schema['properties']) ? input_schema['properties'] : {}
  const schemas = new Map<string, unknown>(Object.entries(properties))
  const values: JsonObject = {}
  for (const pair of pairs) {
    const equals = equalsOf(pair, schemas.keys())
    if (equals < 1) {
      const names = parameters.map(({ name }) => name).join(', ')
      throw invalid(`"${pair}" is no parameter; write NAME=VALUE${names === '' ? '' : `, with ${names}`}`)
    }
    const name = pair.slice(0, equals)
    if (Object.hasOwn(values, name)) throw invalid(`the parameter "${name}" is given twice`)
    const schema = schemas.get(name)
    const argument = pair.slice(equals + 1)
    const text = argument === '-' ? await input() : argument
    // Text is taken unchanged; the line end behind a number is not part of the number.
    const exact = !isObject(schema) || schema['type'] === 'string'
    Object.defineProperty(values, name, {
      value: valueOf(schema, argument === '-' && !exact ? text.trim() : text),
      enumerable: true,
      configurable: true,
      writable: true
    })
  }
  return values
}

/**
 * Converts a text to a value of a parameter. For an array, a text that is not a JSON array becomes its only item,
 * unless the text looks like an incorrect array.
 */
function valueOf (schema: unknown, text: string): unknown {
  const value = coerceText(schema, text)
  if (!isObject(schema) || schema['type'] !== 'array' || Array.isArray(value) || text.startsWith('[')) return value
  return [coerceText(schema['items'], text)]
}

/** Makes a second call of a function an error: standard input can be read only once. */
function once (read: () => Promise<string>): () => Promise<string> {
  let was = false
  return async () => {
    if (was) throw invalid('standard input can be only one value: there is more than one "-"')
    was = true
    try {
      return await read()
    } catch (error) {
      throw invalid(messageOf(error))
    }
  }
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}
