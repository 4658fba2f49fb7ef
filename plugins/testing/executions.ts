import { isFinal, newExecutionId, thisProcess, type Execution, type StoredExecution } from '../../kernel/index.ts'

/** An execution of a minute ago, `success` where nothing else is said. */
export function makeExecution (fields: Partial<Execution> = {}): Execution {
  const at = fields.created_at ?? new Date(Date.now() - 60_000).toISOString()
  const status = fields.status ?? 'success'
  return {
    id: newExecutionId(), skill_name: 'text', tool_name: 'upper', status, created_at: at, duration_ms: 7,
    runtime: 'script',
    started_at: at, finished_at: at, parameters: { text: 'hello' }, output: 'HELLO', output_truncated: false,
    error: null,
    transitions: [{ status: 'queued', at }, { status: 'running', at }, { status, at }], transport: 'http', key: null,
    isolation: 'thread',
    ...fields
  }
}

/** As it is saved: owned by this process until it has ended. */
export function makeStored (fields: Partial<Execution> = {}): StoredExecution {
  const execution = makeExecution(fields)
  return { execution, owner: isFinal(execution.status) ? null : thisProcess() }
}
