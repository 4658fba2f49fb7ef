import type { CallToolResult } from '@modelcontextprotocol/server'
import { isFinal, resultOf, type Call } from '../../../kernel/index.ts'
import type { AgentCall, View } from '../agent/agent-tool.ts'
import { usualExcerpt } from '../agent/excerpt.ts'
import { answerOrAsk, resultOfRun } from '../server/answers.ts'
import type { Host } from '../server/host.ts'
import { findTask, type Found } from './callables.ts'
import { askingTask, endedTask, workingTask, type Task } from './task.ts'

/** The first revision whose clients take tasks. */
const tasksSince = '2026-07-28'

/** A task as it is now. Resolves to undefined where the caller has no such task. */
export async function showTask (id: string, call: Call, host: Host): Promise<Task | undefined> {
  const { found } = await host.gateway.invoke(findTask, { id }, call)
  if (found === undefined) return undefined
  const { execution, waiting_for } = found
  const { kept_ms } = host.taskTimes
  const known = host.tasks.get(id)
  if (isFinal(execution.status)) {
    return await endedTask(execution, kept_ms, () => resultInTask(found, known?.view ?? usualExcerpt, call, host))
  }
  const questions = known?.questions.open
  return questions === undefined
    ? workingTask(execution, waiting_for, kept_ms)
    : askingTask(execution, questions, kept_ms)
}

/** What came of a run that has ended. @throws SkilletError where it ended with an error */
export async function resultOfEnded (
  { execution, tool }: Found, view: View, version: string | undefined, spoken: AgentCall['spoken'], host: Host
): Promise<CallToolResult> {
  const { id: execution_id, status, output, duration_ms } = resultOf(execution)
  return await resultOfRun({ result: { execution_id, status, output, duration_ms }, view }, tool, version, spoken, host)
}

/** What the call would have answered. A task can't ask at its end: nothing would run any longer. */
async function resultInTask (found: Found, view: View, call: Call, host: Host): Promise<CallToolResult> {
  const agent = view === 'own' ? undefined : host.runningTools[0]
  const { skill_name, tool_name } = found.execution
  const text = `${skill_name}:${tool_name} asked something again after it had run for a while, which a task can't pass on. Call it again`
  return await answerOrAsk(
    ({ spoken }) => resultOfEnded(found, view, tasksSince, spoken, host), agent, call, host,
    async (): Promise<CallToolResult> => ({ isError: true, content: [{ type: 'text', text }] })
  )
}
