import type { Tool } from '../../../kernel/index.ts'
import type { ClientCall } from './agent-tool.ts'
import { mayAskFirst } from './client-input.ts'
import type { RunMeta } from './run-meta.ts'

/**
 * How a tool is run for a call. A run for a task is asynchronous, unless the tool may answer with a question: only the
 * answer of the call can carry that.
 */
export function runOf ({ run, asTask, client }: ClientCall, tool: Pick<Tool, 'parameters'>): RunMeta {
  return asTask === true && !mayAskFirst(tool, client) ? { ...run, asynchronous: true } : { ...run }
}
