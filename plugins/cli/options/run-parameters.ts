import {
  coerceText, decodeJson, isObject, messageOf, SkilletError, type JsonObject, type Tool
} from '../../../kernel/index.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { equalsOf } from './target.ts'

/** The bytes that are read from standard input at most. */
const inputBytesMax = 1_048_576

/**
 * Reads the parameters of a run from `--params` and from pairs such as `count=5`; `-` stands for standard input.
 * @throws SkilletError INVALID_PARAMETERS
 */
export async function readParameters (
  params: string | undefined, pairs: readonly string[], tool: Tool, terminal: Terminal, signal: AbortSignal
): Promise<JsonObject> {
  const input = once(() => terminal.input(inputBytesMax, signal))
  return { ...await readParams(params, input), ...await readPairs(pairs, tool, input) }
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

export function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}
