import { spawn } from 'node:child_process'
import { Option } from 'commander'
import {
  coerceText, execute, getSkill, isFinal, splitTool, startRun, storeRun, type Call, type Gateway
} from '../../../kernel/index.ts'
import { recording } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { invalid, readParameters } from '../options/run-parameters.ts'
import { findTool, skillIn } from '../options/target.ts'
import { showRun } from '../terminal/shown-run.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

const define: DefineCommand = (command, context) => {
  command
    .argument('<skill:tool>', 'the tool, such as git:log')
    .argument('[name=value...]', 'its parameters; name=- reads the value from standard input')
    .option('--params <json>', 'its parameters as a JSON object; - reads it from standard input')
    .option('--timeout <ms>', 'time limit in milliseconds')
    .option('--async', 'run it in a process of its own, print its ID and end; `skillet wait ID` waits for it')
    .option('--detach', 'the same as --async')
    .option('--idempotency-key <key>', 'give the first result again where a call with this key was made before')
    .addOption(new Option('--start <id>', 'start an execution that was stored').hideHelp())
  actWithKernel<RunOptions>(command, context, {
    needs: recording,
    only: ([target = '']) => skillIn(target),
    act: async ({ gateway }, options, [target = '', ...pairs]) => {
      const { terminal, signal } = context
      if (options.start === undefined) await run(gateway, target, pairs, options, terminal, signal)
      else await gateway.invoke(startRun, { id: options.start }, { transport: 'cli', signal })
    }
  })
}
export default define

interface RunOptions {
  json?: boolean
  /** The parameters as a JSON object, or `-` to read it from standard input. */
  params?: string
  /** The timeout in milliseconds. */
  timeout?: string
  async?: boolean
  detach?: boolean
  idempotencyKey?: string
  /** The id of a stored execution, which this process starts. */
  start?: string
}

/**
 * `skillet run SKILL:TOOL NAME=VALUE…`: runs a tool and prints its output on standard output, while it runs if the
 * executor supports that.
 * @throws SkilletError
 */
async function run (
  gateway: Gateway,
  target: string,
  pairs: readonly string[],
  { json = false, params, timeout, async: isAsync = false, detach = isAsync, idempotencyKey }: RunOptions,
  terminal: Terminal,
  signal: AbortSignal
): Promise<void> {
  const { skill_name, tool_name } = splitTool(target)
  if (skill_name === '' || tool_name === '') {
    throw invalid(`"${target}" names no tool; write SKILL:TOOL, such as text:count`)
  }
  const skill = await gateway.invoke(getSkill, { name: skill_name }, { transport: 'cli', signal })
  if (tool_name === undefined) {
    throw invalid(`"${target}" is a skill; write SKILL:TOOL with one of its tools: ${skill.tools.map(({ name }) => name).join(', ')}`)
  }
  const tool = await findTool(gateway, skill, tool_name, { transport: 'cli', signal })
  const request = {
    skill_name,
    tool_name,
    parameters: await readParameters(params, pairs, tool, terminal, signal),
    ...(timeout !== undefined && { timeout_ms: coerceText({ type: 'integer' }, timeout) }),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey })
  }
  if (detach) {
    const result = await gateway.invoke(storeRun, request, { transport: 'cli', signal })
    if (!isFinal(result.status)) startElsewhere(result.execution_id)
    terminal.out(json ? `${JSON.stringify(result)}\n` : `${result.execution_id}\n`)
    if (terminal.watched) terminal.err(`It runs on. To see its end: skillet wait ${result.execution_id}\n`)
    return
  }
  const call: Call = { transport: 'cli', signal: AbortSignal.any([signal, terminal.unread]) }
  await showRun(gateway, skill_name, tool, terminal, json, call, call => gateway.invoke(execute, request, call))
}

/** Starts this command again, in a process of its own that outlives this one and runs a stored execution. */
function startElsewhere (id: string): void {
  const [program = '', ...words] = process.argv.slice(1)
  const command = words.indexOf('run')
  const again = [...words.slice(0, command + 1), '--start', id, ...words.slice(command + 1)]
  const child = spawn(process.execPath, [...process.execArgv, program, ...again], { detached: true, stdio: 'ignore' })
  child.on('error', () => {}) // the execution waits in the history, where a server starts it
  child.unref()
}
