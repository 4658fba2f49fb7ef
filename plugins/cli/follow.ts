import {
  getExecution, isAskedFor, isFinal, listExecutions, SkilletError, type ExecutionStatus,
  type ExecutionSummary, type Gateway, type JsonObject
} from '../../kernel/index.ts'

/** How often the history is read, in milliseconds. */
const poll_ms = 300
const page_max = 500
/** The number of new executions that one check finds; if there are more, the oldest are skipped. */
const new_max = 10_000
/** The number of unfinished executions that are watched; above it, the oldest are dropped. */
const open_max = 1_000

/**
 * Shows the existing executions, oldest first, and then executions of any process when they begin and end, until the
 * signal aborts. It reads pages from the newest execution on, which cost the same however long the history is.
 * @param first the input of the list that is shown first
 */
export async function follow (
  gateway: Gateway, first: JsonObject, show: (execution: ExecutionSummary) => void, signal: AbortSignal
): Promise<void> {
  const { status, skill_name, tool_name } = first
  const call = { transport: 'cli' as const, signal }
  const fits = (execution: ExecutionSummary): boolean => (status === undefined || execution.status === status)
    && (typeof skill_name !== 'string' || isAskedFor(execution.skill_name, skill_name))
    && (tool_name === undefined || execution.tool_name === tool_name)
  /** The last known status of unfinished executions, by id. */
  const open = new Map<string, ExecutionStatus>()
  /** The status in the first list, by id. */
  const shown = new Map<string, ExecutionStatus>()
  const see = (execution: ExecutionSummary, old = false): void => {
    if (!old && fits(execution) && shown.get(execution.id) !== execution.status) show(execution)
    if (isFinal(execution.status)) open.delete(execution.id)
    else open.set(execution.id, execution.status)
    for (const id of open.keys()) if (open.size > open_max) open.delete(id)
  }
  const { executions: present } = await gateway.invoke(listExecutions, { limit: page_max }, call)
  const { executions: page } = await gateway.invoke(listExecutions, first, call)
  for (const execution of page.toReversed()) {
    show(execution)
    shown.set(execution.id, execution.status)
  }
  for (const execution of present.toReversed()) see(execution, true)
  let knownIds = new Set(present.map(({ id }) => id))
  while (await elapsed(poll_ms, signal)) {
    for (const [id, before] of open) {
      const execution = await gateway.invoke(getExecution, { id }, call).catch(pruned)
      if (execution === undefined) open.delete(id)
      else if (execution.status !== before) see(execution)
    }
    const newer = await newSince(gateway, knownIds, call)
    for (const execution of newer.toReversed()) see(execution)
    knownIds = new Set([...newer.map(({ id }) => id), ...knownIds].slice(0, page_max))
  }
}

/** The executions that are newer than the first known one, newest first. */
async function newSince (
  gateway: Gateway,
  knownIds: ReadonlySet<string>,
  call: { transport: 'cli', signal: AbortSignal }
): Promise<ExecutionSummary[]> {
  const newer: ExecutionSummary[] = []
  let cursor: string | undefined
  // Most often there are no new executions, so the first page is short.
  for (let limit = 10; newer.length < new_max; limit = page_max) {
    const page = await gateway.invoke(listExecutions, { limit, ...(cursor !== undefined && { cursor }) }, call)
    for (const execution of page.executions) {
      if (knownIds.has(execution.id)) return newer
      newer.push(execution)
    }
    cursor = page.next_cursor
    if (cursor === undefined) break
  }
  return newer
}

function pruned (error: unknown): undefined {
  if (!(error instanceof SkilletError) || error.code !== 'EXECUTION_NOT_FOUND') throw error
}

/** @returns false when the signal aborted first */
async function elapsed (ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  return await new Promise(resolve => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve(!signal.aborted)
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}
