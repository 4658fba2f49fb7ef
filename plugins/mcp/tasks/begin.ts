import {
  CLIENT_CAPABILITIES_META_KEY, type CallToolResult, type InputRequiredResult, type ServerContext
} from '@modelcontextprotocol/server'
import { abortSignalOf, isFinal, isObject, SkilletError, type JsonObject } from '../../../kernel/index.ts'
import type { AgentTool, ClientCall, Run } from '../agent/agent-tool.ts'
import { answerBy } from '../server/answers.ts'
import type { ToolRequest } from '../server/call-in-rounds.ts'
import { failureOf } from '../server/failures.ts'
import type { Host } from '../server/host.ts'
import { answeredBy } from '../server/questions.ts'
import { cancelTask, findTask, type Found } from './callables.ts'
import { resultOfEnded } from './show.ts'
import { tasksExtension, workingTask } from './task.ts'
import { TaskQuestions } from './task-questions.ts'

/** How long a cancellation is followed, in milliseconds. */
const cancel_ms = 60_000

/** Whether the client of a request takes tasks. Since 2026 each request says so. */
export function takesTasks ({ mcpReq: { envelope } }: ServerContext): boolean {
  return declaresTasks((envelope as JsonObject | undefined)?.[CLIENT_CAPABILITIES_META_KEY])
}

/** Whether the capabilities of a client include tasks. */
export function declaresTasks (capabilities: unknown): boolean {
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined
  return isObject(extensions) && isObject(extensions[tasksExtension])
}

/**
 * Runs a tool for a client that takes tasks. The run is asynchronous, so the history has it before the answer. If it
 * ends soon, the answer is its result. Otherwise, or as soon as it asks something, the answer is a task.
 * @param begin begins the run
 */
export async function beginTask (
  { request, call, server, ctx, host, running }: ToolRequest, agent: AgentTool | undefined,
  begin: (call: ClientCall) => Promise<Run>
): Promise<CallToolResult | InputRequiredResult> {
  const questions = new TaskQuestions(answeredBy(call.client.capabilities ?? {}))
  const report = host.reports.begin(ctx, request[0])
  running(1)
  try {
    const accepted = (id: string): void => { report.follow(id) }
    const { result, view } = await begin({ ...call, asTask: true, questions, accepted })
    host.tasks.add(result.execution_id, { view, questions })
    const found = await soon(result.execution_id, questions, call, host)
    const version = server.getNegotiatedProtocolVersion()
    if (!isFinal(found.execution.status)) return createdTask(found, host)
    return await answerBy(
      ({ spoken }) => resultOfEnded(found, view, version, spoken, host), agent, call, request, ctx, host
    )
  } catch (error) {
    return await failureOf(SkilletError.from(error), agent, call, host)
  } finally {
    await report.end()
    running(-1)
  }
}

/** Waits a moment for the end of a run, or for its first question. A client that leaves meanwhile cancels it. */
async function soon (id: string, questions: TaskQuestions, call: ClientCall, host: Host): Promise<Found> {
  const waiting = new AbortController()
  const stop = questions.onChange(() => { waiting.abort() })
  try {
    if (questions.open !== undefined) waiting.abort()
    const signal = AbortSignal.any([abortSignalOf(call.signal), waiting.signal])
    const { found } = await host.gateway.invoke(
      findTask, { id, wait_ms: host.taskTimes.after_ms }, { ...call, signal }
    )
    if (found === undefined) throw new SkilletError('EXECUTION_NOT_FOUND', `The execution "${id}" was pruned already`)
    if (call.signal.aborted) cancel(id, call, host)
    return found
  } finally {
    stop()
  }
}

/** Cancels a task. Its client sees from the task whether and when that came about. */
export function cancel (id: string, call: Pick<ClientCall, 'transport' | 'access'>, host: Host): void {
  host.gateway.invoke(cancelTask, { id }, { ...call, signal: AbortSignal.timeout(cancel_ms) })
    .catch((error: unknown) => {
      host.log.debug({ execution_id: id, error: String(error) }, 'a task was not cancelled')
    })
}

/** The answer of a call that became a task. The SDK gives each answer of a tool contents, so these are empty. */
function createdTask ({ execution, waiting_for }: Found, host: Host): CallToolResult {
  return { content: [], resultType: 'task', ...workingTask(execution, waiting_for, host.taskTimes.kept_ms) }
}
