import { MissingRequiredClientCapabilityError, type CallToolResult } from '@modelcontextprotocol/server'
import { isFinal, type Execution, type JsonObject } from '../../../kernel/index.ts'
import type { ClientRequest } from '../server/questions.ts'

/** The extension by which calls of tools become tasks (SEP-2663). */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** How often a client is asked to look for the end of a task, in milliseconds. */
const poll_ms = 1_000

/** The code of an error inside the server, in JSON-RPC. */
const internalError = -32_603

/** A task without what its status adds: an execution, as the extension shows it. */
export interface Task extends JsonObject {
  taskId: string
  status: 'working' | 'input_required' | 'completed' | 'cancelled' | 'failed'
}

/** The error for a request that needs a client that takes tasks. */
export function missingTasks (what: string): MissingRequiredClientCapabilityError {
  const requiredCapabilities = { extensions: { [tasksExtension]: {} } }
  const message = `${what}, and this request does not declare the capability for tasks: ${tasksExtension} in extensions`
  return new MissingRequiredClientCapabilityError({ requiredCapabilities }, message)
}

/** An execution as a task that has not ended. @param kept_ms how long the history keeps it */
export function workingTask (execution: Execution, waiting_for: string | undefined, kept_ms: number): Task {
  return { ...taskOf(execution, 'working', kept_ms), ...(waiting_for !== undefined && { statusMessage: waiting_for }) }
}

/** A task whose tool asks its client, with the questions by their keys. */
export function askingTask (execution: Execution, inputRequests: Record<string, ClientRequest>, kept_ms: number): Task {
  return { ...taskOf(execution, 'input_required', kept_ms), inputRequests }
}

/**
 * A task that has ended. Where the tool came to its end, even by an error of its own, the task is completed. Where it
 * did not, as after its time limit or the death of its process, the task failed.
 * @param resultOf gives what the call would have answered
 */
export async function endedTask (
  execution: Execution, kept_ms: number, resultOf: () => Promise<CallToolResult>
): Promise<Task> {
  const { status, error } = execution
  if (status === 'cancelled') return taskOf(execution, 'cancelled', kept_ms)
  if (error !== null && error.code !== 'TOOL_EXECUTION_FAILED') {
    const { message } = error
    const failure = { code: internalError, message, data: { error } }
    return { ...taskOf(execution, 'failed', kept_ms), statusMessage: message, error: failure }
  }
  return { ...taskOf(execution, 'completed', kept_ms), result: await resultOf() }
}

function taskOf ({ id, status, created_at, transitions }: Execution, shown: Task['status'], kept_ms: number): Task {
  return {
    taskId: id,
    status: shown,
    createdAt: created_at,
    lastUpdatedAt: transitions.at(-1)?.at ?? created_at,
    ttlMs: kept_ms,
    ...(!isFinal(status) && { pollIntervalMs: poll_ms })
  }
}
