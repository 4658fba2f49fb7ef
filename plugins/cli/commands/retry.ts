import {
  coerceText, getExecution, getSkill, retryExecution, type Call, type Gateway
} from '../../../kernel/index.ts'
import { recording } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { readParameters } from '../options/run-parameters.ts'
import { findTool } from '../options/target.ts'
import { showRun } from '../terminal/shown-run.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

interface RetryOptions { json?: boolean, params?: string, timeout?: string }

/** `skillet retry ID [NAME=VALUE…]`: runs the tool of an execution that has ended again, with changed parameters. */
const define: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the execution')
    .argument('[name=value...]', 'parameters that are changed; name=- reads the value from standard input')
    .option('--params <json>', 'parameters that are changed, as a JSON object; - reads it from standard input')
    .option('--timeout <ms>', 'time limit in milliseconds')
  actWithKernel<RetryOptions>(command, context, {
    needs: recording,
    act: ({ gateway }, options, [id = '', ...pairs]) =>
      retry(gateway, id, pairs, options, context.terminal, context.signal)
  })
}
export default define

async function retry (
  gateway: Gateway, id: string, pairs: readonly string[], { json = false, params, timeout }: RetryOptions,
  terminal: Terminal, signal: AbortSignal
): Promise<void> {
  const call: Call = { transport: 'cli', signal: AbortSignal.any([signal, terminal.unread]) }
  const { skill_name, tool_name } = await gateway.invoke(getExecution, { id }, call)
  const tool = await findTool(gateway, await gateway.invoke(getSkill, { name: skill_name }, call), tool_name, call)
  const request = {
    id,
    parameters: await readParameters(params, pairs, tool, terminal, signal),
    ...(timeout !== undefined && { timeout_ms: coerceText({ type: 'integer' }, timeout) })
  }
  await showRun(gateway, skill_name, tool, terminal, json, call, call => gateway.invoke(retryExecution, request, call))
}
