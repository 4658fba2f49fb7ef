import { Type } from 'typebox'
import {
  abortSignalOf, cancelExecution, isFinal, SkilletError, waitingReason, type Callable, type Execution, type Tool
} from '../../../kernel/index.ts'
import type { ClientCall, Run, RunningTool } from '../agent/agent-tool.ts'

/** An execution as its caller finds it, with what is needed to show its output. */
export interface Found {
  execution: Execution
  /** Why it does not run yet. */
  waiting_for?: string | undefined
  /** Its tool; one without parameters where the skill has it no longer. */
  tool: Pick<Tool, 'parameters'>
}

const Input = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 256 }),
  /** How long to wait for the end, in milliseconds. */
  wait_ms: Type.Integer({ minimum: 0, maximum: 60_000, default: 0 })
}, { additionalProperties: false })
const Output = Type.Object({ found: Type.Optional(Type.Unsafe<Found>({})) })

/**
 * Finds a task: an execution that the same caller began. Who may run tools may see what came of it, so this needs the
 * right to execute.
 */
export const findTask: Callable<typeof Input, typeof Output> = {
  name: 'find_task',
  effect: 'write',
  description: 'Finds an execution of the caller.',
  input: Input,
  output: Output,
  async handler ({ storage, executions, catalog }, { id, wait_ms }, { access, signal }) {
    const stored = await storage.get(id)
    if (stored === undefined || stored.execution.key !== (access?.key ?? null)) return {}
    let { execution } = stored
    if (wait_ms > 0 && !isFinal(execution.status)) {
      const waited = await executions.wait(id, wait_ms, abortSignalOf(signal))
      execution = waited ?? (await storage.get(id))?.execution ?? execution
    }
    const waiting_for = waitingReason(execution, executions)
    const tool = toolOf(() => catalog.tool(execution.skill_name, execution.tool_name))
    return { found: { execution, waiting_for, tool } }
  }
}

function toolOf (find: () => { tool: Pick<Tool, 'parameters'> }): Pick<Tool, 'parameters'> {
  try {
    return find().tool
  } catch {
    return { parameters: [] }
  }
}

const Cancelled = Type.Object({})

/** Cancels a task, if it has not ended. */
export const cancelTask: Callable<typeof cancelExecution.input, typeof Cancelled> = {
  name: 'cancel_task',
  effect: 'write',
  description: 'Cancels an execution, if it has not ended.',
  input: cancelExecution.input,
  output: Cancelled,
  async handler (services, input, call) {
    try {
      await cancelExecution.handler(services, input, call)
    } catch (error) {
      if (!(error instanceof SkilletError) || error.code !== 'CONFLICT') throw error // it has ended meanwhile
    }
    return {}
  }
}

const RunSchema = Type.Object({ result: Type.Unsafe<Run['result']>({}), view: Type.Unsafe<Run['view']>({}) })

/** The beginning of a tool for agents that runs tools, in the form that the gateway needs, for one call. */
export function beginning (tool: RunningTool, call: ClientCall): Callable<RunningTool['input'], typeof RunSchema> {
  return { ...tool, output: RunSchema, handler: (services, input) => tool.begin(services, input, call) }
}
