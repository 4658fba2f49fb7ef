import type { Execution, ExecutionStatus, StoredExecution } from '../../kernel/index.ts'

/** The transitions that an execution may take, written down once more: the kernel's own table is what is tested. */
const allowed: Readonly<Record<ExecutionStatus, readonly ExecutionStatus[]>> = {
  queued: ['waiting', 'running', 'failed', 'timeout', 'cancelled', 'interrupted'],
  waiting: ['queued', 'cancelled', 'interrupted'],
  running: ['success', 'failed', 'timeout', 'cancelled', 'interrupted'],
  success: [],
  failed: [],
  timeout: [],
  cancelled: [],
  interrupted: []
}

/** A rule was broken. */
export class BrokenRule extends Error {}

export function demand (holds: boolean, rule: string, facts?: unknown): asserts holds {
  if (!holds) throw new BrokenRule(facts === undefined ? rule : `${rule}: ${JSON.stringify(facts)}`)
}

export function isFinalStatus (status: ExecutionStatus): boolean {
  return allowed[status].length === 0
}

/** Statuses, in order, are a part of a life. */
export function checkPart (statuses: readonly ExecutionStatus[]): void {
  for (const [index, status] of statuses.entries()) {
    const before = statuses[index - 1]
    demand(before === undefined || allowed[before].includes(status), 'only allowed transitions are taken', statuses)
  }
}

/** Statuses, in order, are the beginning of a life: `queued` first, and then allowed transitions only. */
export function checkPath (statuses: readonly ExecutionStatus[]): void {
  demand(statuses[0] === 'queued', 'an execution begins as queued', statuses)
  checkPart(statuses)
}

/** A record agrees with itself. */
export function checkRecord (execution: Execution): void {
  const { status, transitions, created_at, started_at, finished_at, error, duration_ms, output } = execution
  const statuses = transitions.map(transition => transition.status)
  checkPath(statuses)
  demand(statuses.at(-1) === status, 'the last transition is the status', execution)
  const times = [created_at, ...transitions.map(({ at }) => at)]
  const inOrder = times.every((at, index) => at >= (times[index - 1] ?? ''))
  demand(inOrder, 'transitions are in the order of their times', execution)
  const running = transitions.find(transition => transition.status === 'running')
  demand(started_at === (running?.at ?? null), 'started_at is the time of running', execution)
  const end = isFinalStatus(status) ? times.at(-1) : null
  demand(finished_at === end, 'finished_at is the time of the end', execution)
  const hasError = isFinalStatus(status) && status !== 'success'
  demand(hasError === (error !== null), 'all ends but a success have an error', execution)
  demand(duration_ms >= 0 && Number.isInteger(duration_ms), 'a duration is a whole number of milliseconds', execution)
  const success = `output of request ${String(execution.parameters['request'])}`
  const isOwn = output === success || (output === '' && status !== 'success')
  demand(isOwn, 'the output is that of the run', execution)
}

/** A record on the disk is replaced by a later state of the same execution, and a final one by no other. */
export function checkWrite (before: StoredExecution | undefined, { execution }: StoredExecution): void {
  checkRecord(execution)
  if (before === undefined) return
  const [old, now] = [JSON.stringify(before.execution), JSON.stringify(execution)]
  if (isFinalStatus(before.execution.status)) demand(old === now, 'a final state never changes', { old, now })
  const known = before.execution.transitions
  const kept = execution.transitions.slice(0, known.length)
  demand(JSON.stringify(kept) === JSON.stringify(known), 'a transition that was stored stays', { old, now })
}
