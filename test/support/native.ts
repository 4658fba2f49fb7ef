import {
  type Executor, type Isolation, type JsonObject, type Outcome, type ParameterDescriptor
} from '../../kernel/index.ts'
import { parseCommand } from '../../plugins/toolkit/parse-command.ts'
import type { Call } from '../conformance/executor.ts'
import { callOf } from '../../plugins/testing/skill.ts'

/** The helper under test, `auto` or `node`: the tests of the executor run with both. */
export const usedHelper = process.env['SKILLET_TEST_HELPER'] ?? 'auto'

/** A configuration in which that helper is used. */
export function withHelper (config: JsonObject = {}, options: JsonObject = {}): JsonObject {
  return { ...config, plugin: { 'executor-native': { helpers: 1, helper: usedHelper, ...options } } }
}

interface More { stdin?: string, cwd?: string, env?: string[], directory?: string, variables?: Record<string, string> }

/** A call of a command whose placeholders are these parameters, all of which may begin with a dash. */
export function commandCall (
  command: string[],
  parameters: JsonObject = {},
  { env = [], directory = '/', variables, ...spec }: More = {}
): Call {
  const descriptors = Object.entries(parameters).map(([name, value]): ParameterDescriptor =>
    ({ name, type: Array.isArray(value) ? 'array' : 'string', description: name, required: true, allow_dash: true }))
  const tool = {
    name: 'tool',
    command: parseCommand({ command, ...spec, ...(variables !== undefined && { env: variables }) }, descriptors)
  }
  return callOf('native', tool, parameters, { directory, permissions: { network: false, write: [], env, secrets: [] } })
}

/** A call of a shell script; `$1` and so on are the arguments. */
export function shellCall (script: string, ...args: string[]): Call {
  return commandCall(['sh', '-c', '{{script}}', 'sh', '{{...args}}'], { script, args })
}

/** Runs a call to its end. `started` is told when it starts, and in the result. */
export async function runCall (
  executor: Executor, call: Call, timeout_ms = 60_000, abort = new AbortController(), started: Isolation[] = []
): Promise<Outcome & { started: Isolation[] }> {
  const observer = { started (isolation: Isolation): void { started.push(isolation) }, progress () {}, log () {} }
  const outcome = await executor.run({ execution_id: 'x', ...call, timeout_ms, config: {} }, observer, abort.signal)
  return { ...outcome, started }
}
