import { stringify } from 'csv-stringify'
import type { Execution } from '../../../kernel/index.ts'

const columns = [
  'id', 'skill_name', 'tool_name', 'status', 'created_at', 'started_at', 'finished_at', 'duration_ms', 'runtime',
  'isolation', 'transport', 'key', 'parameters', 'output', 'output_truncated', 'error'
] as const satisfies readonly (keyof Execution)[]

/**
 * Records as CSV (RFC 4180) with a row of names. Objects are JSON. A text that a spreadsheet would take for a formula
 * begins with an apostrophe, since tools write outputs from anywhere.
 */
export async function * csvOf (executions: AsyncIterable<Execution>): AsyncGenerator<string> {
  const rows = stringify({
    header: true, columns: [...columns], escape_formulas: true, record_delimiter: '\r\n', quoted_match: /[\r\n]/,
    cast: { boolean: value => String(value) }
  })
  const fed = feed(executions, rows)
  for await (const text of rows) yield String(text)
  await fed
}

async function feed (executions: AsyncIterable<Execution>, rows: ReturnType<typeof stringify>): Promise<void> {
  try {
    for await (const { parameters, error, ...execution } of executions) {
      const row = { ...execution, parameters: JSON.stringify(parameters), error: error && JSON.stringify(error) }
      if (!rows.write(row)) await new Promise(resolve => rows.once('drain', resolve))
    }
    rows.end()
  } catch (error) {
    rows.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}
