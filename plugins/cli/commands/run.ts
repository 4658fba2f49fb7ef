import { coerceText, decodeJson, execute, getSkill, SkilletError, type Gateway, type JsonObject } from '../../../kernel/index.ts'
import { recording } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import type { Terminal } from '../terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

const define: DefineCommand = (command, context) => {
  command
    .argument('<skill:tool>', 'the tool, such as git:log')
    .argument('[name=value...]', 'its parameters')
    .option('--params <json>', 'its parameters as a JSON object; - reads it from standard input')
    .option('--timeout <ms>', 'time limit in milliseconds')
  actWithKernel<{ json?: boolean, params?: string, timeout?: string }>(command, context, {
    needs: recording,
    act: (kernel, { json = false, params, timeout }, [target = '', ...pairs]) => run(kernel.gateway, target, pairs, {
      json, ...(params !== undefined && { params }), ...(timeout !== undefined && { timeout_ms: Number(timeout) })
    }, context.terminal, context.signal)
  })
}
export default define

interface RunOptions {
  json: boolean
  /** The parameters as a JSON object, or `-` to read it from standard input. */
  params?: string
  timeout_ms?: number
}

/** The most that is read from standard input. */
const paramsBytesMax = 1_048_576

/** `skillet run SKILL:TOOL NAME=VALUE…`: runs a tool and prints its output. @throws SkilletError */
async function run (gateway: Gateway, target: string, pairs: readonly string[], options: RunOptions, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const { skill_name, tool_name } = parseTarget(target)
  const call = { transport: 'cli' as const, signal }
  const { tools } = await gateway.invoke(getSkill, { name: skill_name }, call)
  const properties = tools.find(({ name }) => name === tool_name)?.input_schema['properties']
  const parameters = {
    ...await readParams(options.params, terminal),
    ...parsePairs(pairs, typeof properties === 'object' && properties !== null ? properties : {})
  }
  const stop = gateway.bus.on('log', ({ level, text }) => { terminal.err(`${level}: ${text}\n`) })
  try {
    const result = await gateway.invoke(execute, {
      skill_name, tool_name, parameters, ...(options.timeout_ms !== undefined && { timeout_ms: options.timeout_ms })
    }, call)
    if (options.json) terminal.out(`${JSON.stringify(result)}\n`)
    else terminal.out(result.output === '' || result.output.endsWith('\n') ? result.output : `${result.output}\n`)
  } finally {
    stop()
  }
}

function parseTarget (target: string): { skill_name: string, tool_name: string } {
  const colon = target.indexOf(':')
  if (colon < 1 || colon === target.length - 1) throw invalid(`"${target}" names no tool; write SKILL:TOOL, such as text:count`)
  return { skill_name: target.slice(0, colon), tool_name: target.slice(colon + 1) }
}

async function readParams (params: string | undefined, terminal: Terminal): Promise<JsonObject> {
  if (params === undefined) return {}
  const text = params === '-' ? await terminal.input(paramsBytesMax) : params
  let value
  try {
    value = decodeJson(Buffer.from(text))
  } catch (error) {
    throw invalid(`--params: ${error instanceof Error ? error.message.replace(/^body /, '') : 'is not valid JSON'}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('--params must be a JSON object, such as \'{"text": "hello"}\'')
  return { ...value }
}

/** `count=5` by the type that the tool's schema gives `count`. Whatever does not fit is left for validation to refuse. */
function parsePairs (pairs: readonly string[], properties: object): JsonObject {
  const schemas = new Map<string, unknown>(Object.entries(properties))
  return Object.fromEntries(pairs.map(pair => {
    const equals = pair.indexOf('=')
    if (equals < 1) throw invalid(`"${pair}" is no parameter; write NAME=VALUE`)
    const name = pair.slice(0, equals)
    return [name, coerceText(schemas.get(name), pair.slice(equals + 1))]
  }))
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}
