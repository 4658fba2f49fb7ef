import { isFinal, type ExecutionSummary } from '../../../kernel/index.ts'
import { statusStyle } from '../status.ts'
import { align, duration, localTime, type Cell } from './layout.ts'
import type { Terminal } from './terminal.ts'

/** Executions as a table, a line each. */
export function executionLines (
  executions: readonly ExecutionSummary[], { colors: { out }, columns }: Terminal
): string {
  return align(executions.map(({ id, created_at, status, duration_ms, skill_name, tool_name }): (Cell | string)[] => [
    { text: localTime(created_at), style: out.dim },
    { text: status.padEnd(11), style: statusStyle(status, out) },
    (isFinal(status) ? duration(duration_ms) : '').padStart(8),
    `${skill_name}:${tool_name}`.padEnd(20),
    { text: id, style: out.dim }
  ]), { columns })
}
