import type { Execution, SkilletError } from '../../kernel/index.ts'
import type { SimulatedRun } from './executor.ts'
import type { Request, SimulatedProcess, Submission } from './process.ts'
import { checkPart, checkPath, demand, isFinalStatus } from './rules.ts'
import type { SimulatedDisk } from './storage.ts'

/** What is known of a history when it has ended. */
export interface Evidence {
  readonly disk: SimulatedDisk
  readonly durability: 'committed' | 'deferred'
  /** All processes that there were. */
  readonly processes: SimulatedProcess[]
  readonly requests: Request[]
  readonly submissions: Submission[]
  /** All executions that a process began, by id. */
  readonly runs: Map<string, { run: SimulatedRun, process: SimulatedProcess }>
  /** Final records that clients received. */
  readonly acknowledged: { process: SimulatedProcess, execution: Execution }[]
}

/** Checks what must be true when all storages have committed everything, and no execution began a moment ago. */
export function checkQuiet ({ disk, runs }: Evidence): void {
  for (const [id, { run, process }] of runs) {
    if (!process.isAlive) continue
    const stored = disk.records.get(id)
    demand(stored !== undefined, 'an execution that lasts is stored', id)
    const { execution: { status }, owner } = stored
    const facts = { id, status, owner }
    demand(isFinalStatus(status) === (owner === null), 'only an unfinished execution has an owner', facts)
    demand(isFinalStatus(status) || !run.isAnswered, 'an execution ends with its run', facts)
    demand(status !== 'queued' || !run.isReported, 'a start is stored', facts)
  }
}

/** Checks that the clients of a process have their replies, also those that waited for a commit. */
export function checkReplies (process: SimulatedProcess, { requests }: Evidence): void {
  if (!process.isAlive) return
  for (const { number, process: its, result, error } of requests) {
    const hasReply = result !== undefined || error !== undefined
    demand(its !== process || hasReply, 'a request gets its reply before the end of a drain', number)
  }
}

/** Checks what must be true when every process has ended and another one has recovered. */
export function checkEnd (evidence: Evidence): void {
  const { disk, durability, processes, requests, runs, acknowledged } = evidence
  for (const { execution, owner } of disk.records.values()) {
    demand(isFinalStatus(execution.status) && owner === null, 'every execution ends', { execution, owner })
    const isLater = Number(execution.parameters['request']) >= 1_000_000
    demand(isLater || runs.has(execution.id), 'a refused execution is not stored', execution)
  }
  demand(disk.cancels.size === 0, 'a cancel request goes with its execution', [...disk.cancels])
  for (const [id, { run, process }] of runs) checkRun(id, disk.records.get(id)?.execution, run, process)
  for (const request of requests) checkRequest(request)
  for (const { process, execution } of acknowledged) {
    if (durability === 'deferred' && process.hasCrashed) continue
    const stored = disk.records.get(execution.id)
    demand(isEqual(stored?.execution, execution), 'what was acknowledged stays', { stored, execution })
  }
  for (const process of processes) {
    checkHeard(process, id => runs.get(id)?.process === process, id => {
      const { parameters } = (runs.get(id)?.run.task ?? disk.records.get(id)?.execution) ?? {}
      // Of an asynchronous run that could not be stored, neither knows.
      return parameters === undefined || Number(parameters['request']) >= 1_000_000
    })
  }
  checkSubmissions(evidence)
}

function checkRun (id: string, execution: Execution | undefined, run: SimulatedRun, process: SimulatedProcess): void {
  if (execution === undefined) {
    demand(process.hasCrashed, 'no execution is lost without a crash', id)
    return
  }
  const hasRun = execution.transitions.some(({ status }) => status === 'running')
  demand(!hasRun || run.isReported, 'what did not start is not recorded as running', execution)
  // An executor that reports a start after the end did not start the tool.
  const claims = execution.status === 'cancelled' && !hasRun
  demand(!claims || run.starts === 0, 'what was cancelled before it began never runs', execution)
}

function checkRequest ({ number, process, accepted, run, result, error }: Request): void {
  if (run === undefined) {
    demand(error !== undefined, 'a request is run or refused', number)
    demand((error as SkilletError).code === 'OVERLOADED', 'a refusal says why', String(error))
    return
  }
  const id = run.task.execution_id
  demand(accepted === undefined || accepted === id, 'a client learns the id of its execution', { accepted, id })
  const isOwn = result === undefined || result.parameters['request'] === number
  demand(isOwn, 'a client receives its own result', result)
  if (process.hasCrashed) return
  demand(result !== undefined || error !== undefined, 'a request gets its reply', number)
  demand(error === undefined || process.storage.hasFailed, 'a reply fails only where a commit failed', String(error))
}

/** Asynchronous runs are not lost, and those with a key run once. */
function checkSubmissions ({ disk, submissions, runs }: Evidence): void {
  const idOfKey = new Map<number, string>()
  for (const { asynchronous, key, process, status, result, error } of submissions) {
    if (result === undefined) {
      demand(error !== undefined || process.hasCrashed, 'a request for a later run gets its reply')
      continue
    }
    const { id } = result
    const execution = disk.records.get(id)?.execution
    demand(execution !== undefined, 'a later run that was acknowledged is kept', id)
    if (asynchronous && (status === 'queued' || status === 'waiting') && execution.status === 'interrupted') {
      const mayHaveBegun = runs.has(id) || execution.queue?.handed_over_at !== null
      demand(mayHaveBegun, 'what has surely not begun is not interrupted', execution)
    }
    if (key === undefined) continue
    demand((idOfKey.get(key) ?? id) === id, 'a key stands for one execution', { key, id })
    idOfKey.set(key, id)
  }
  const requests = new Set<unknown>()
  for (const { run } of runs.values()) {
    const { request } = run.task.parameters
    if (Number(request) < 1_000_000) continue
    demand(!requests.has(request), 'a request for a later run is run once', request)
    requests.add(request)
  }
}

/** Published transitions are a life, or the end of one that another process began. */
function checkHeard (
  process: SimulatedProcess, isOwn: (id: string) => boolean, isLater: (id: string) => boolean
): void {
  for (const [id, statuses] of process.heard) {
    if (isLater(id)) checkPart(statuses) // several processes may have had it
    else if (isOwn(id)) checkPath(statuses)
    else demand(statuses.join() === 'interrupted', 'of others, only an interruption is published', statuses)
  }
}

/** Equal as JSON. */
export function isEqual (a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
