import type { Execution } from '../../../kernel/index.ts'
import { steady } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The characters of a line that is shown of a text. */
const line_characters = 1_000

/** What an execution did, line by line, with the time since its creation: its states, and what its tool wrote. */
export function timelineText (execution: Execution, { colors: { out: { dim, bold } } }: Terminal): string {
  const created_ms = Date.parse(execution.created_at)
  const rows = [
    ...execution.transitions.map(({ status, at }) =>
      ({ after_ms: Date.parse(at) - created_ms, label: bold(status), text: '', isLast: isLast(execution, status) })),
    ...(execution.timeline ?? []).map(entry => ({
      after_ms: entry.after_ms, label: entry.level ?? entry.stream, text: textOf(entry, execution.output), isLast: false
    }))
  ]
  // The sort is stable; the last state comes after what was written in the same millisecond.
  const sorted =
    rows.toSorted((one, other) => Number(one.isLast) - Number(other.isLast) || one.after_ms - other.after_ms)
  const lines = sorted.flatMap(({ after_ms, label, text }) =>
    text.replace(/\n$/, '').split('\n').map((line, i) => {
      const time = i === 0 ? `+${(Math.max(0, after_ms) / 1_000).toFixed(3)} s` : ''
      return `${dim(time.padStart(12))}  ${label.padEnd(8)}  ${cut(line)}`.trimEnd()
    }))
  return `${lines.join('\n')}\n`
}

function isLast ({ transitions, finished_at }: Execution, status: string): boolean {
  return finished_at !== null && transitions.at(-1)?.status === status
}

function textOf (entry: NonNullable<Execution['timeline']>[number], output: string): string {
  const { stream, from, length = 0, text, done, total, message } = entry
  if (stream === 'stdout') return output.slice(from, from + length)
  if (stream !== 'progress') return text ?? ''
  return `${done}${total === undefined ? '' : ` of ${total}`}${message === undefined ? '' : ` ${message}`}`
}

function cut (line: string): string {
  const plain = steady(line)
  return plain.length > line_characters ? `${plain.slice(0, line_characters)}…` : plain
}
