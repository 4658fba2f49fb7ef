import { getExecution, listExecutions, SkilletError, type Approval, type Execution } from '../../../kernel/index.ts'
import { looking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { timelineText } from '../events/timeline.ts'
import { align, duration, localTime, paragraph, steady } from '../terminal/layout.ts'
import { statusStyle } from '../status.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet show [ID]`: shows the record of an execution; without an id, of the newest execution. */
const define: DefineCommand = (command, context) => {
  command
    .argument('[id]', 'the execution; the newest where absent')
    .option('--output', 'print its output alone')
    .option('--timeline', 'print its states and what its tool wrote, with times')
  actWithKernel<{ json?: boolean, output?: boolean, timeline?: boolean }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false, output = false, timeline = false }, [givenId]) {
      const { terminal, signal } = context
      const call = { transport: 'cli' as const, signal }
      const id = givenId ?? (await gateway.invoke(listExecutions, { limit: 1 }, call)).executions[0]?.id
      if (id === undefined) throw new SkilletError('EXECUTION_NOT_FOUND', 'The history is empty: nothing was run yet')
      const execution = await gateway.invoke(getExecution, { id }, call)
      if (json) {
        terminal.out(`${JSON.stringify(output ? { id, output: execution.output, output_truncated: execution.output_truncated } : execution)}\n`)
      } else if (output) {
        terminal.out(terminal.shown ? steady(execution.output) : execution.output)
      } else if (timeline) {
        terminal.out(timelineText(execution, terminal))
      } else {
        terminal.out(text(execution, terminal))
      }
    }
  })
}
export default define

function text (execution: Execution, { colors: { out }, columns, shown }: Terminal): string {
  const { bold, dim } = out
  const { status, error, parameters, transitions, approvals = [] } = execution
  const output = shown ? steady(execution.output) : execution.output
  const rows = [
    ['status', { text: status, style: statusStyle(status, out) }],
    ...(error === null ? [] : [['error', `${error.code}: ${error.message}`]]),
    ['created', localTime(execution.created_at)],
    ['took', execution.finished_at === null ? '' : duration(execution.duration_ms)],
    ['states', transitions.map(({ status, at }) => `${status} ${localTime(at).slice(11)}`).join(' → ')],
    ['called by', `${execution.transport}${execution.key === null ? '' : ` with the key ${execution.key}`}`],
    ...approvals.map(approval => ['approval', approvalText(approval)]),
    ['isolation', execution.isolation ?? ''],
    ...Object.entries(parameters)
      .map(([name, value]) => [`  ${name}`, typeof value === 'string' ? value : JSON.stringify(value)])
  ].filter(([, value]) => value !== '')
  const title = paragraph(
    [{ text: `${execution.skill_name}:${execution.tool_name}`, style: bold }, ' ', { text: execution.id, style: dim }],
    { columns }
  )
  const head = `${title}${align(rows, { columns })}`
  if (output === '') return head
  const label = dim(`output${execution.output_truncated ? ', truncated' : ''}:`)
  return `${head}${label}\n${output}${output.endsWith('\n') ? '' : '\n'}`
}

function approvalText ({ decision, decided_at, decided_by, key, note, reason, expires_at }: Approval): string {
  if (decision === null || decided_at === null) return `waits until ${localTime(expires_at)} (${reason})`
  const who = { terminal: 'at the terminal', key: `with the key ${key}`, caller: 'by the user of the caller',
    expiry: 'since nobody decided in time' }[decided_by ?? 'expiry']
  return `${decision} ${who} ${localTime(decided_at)} (${reason})${note === undefined ? '' : `: ${note}`}`
}
