import { Type, type Static } from 'typebox'
import type { Call } from '../contracts/call.ts'
import type { ExecuteResult, Execution } from '../contracts/schemas.ts'
import type { Job, Once, QueueOptions, Services } from '../contracts/services.ts'
import { onceOf } from '../executions/once.ts'
import { resultOf } from '../executions/record.ts'
import { priorities } from '../executions/run-queue.ts'
import { isFinal } from '../executions/transitions.ts'
import { SkilletError } from '../lib/errors.ts'

/** The longest time that a call may wait for an execution, in seconds. */
export const waitMax_s = 60

/** The fields of an operation that runs a tool which say how it is run. */
export const RunOptions = Type.Object({
  timeout_ms: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 2_147_483_647,
    description: 'Time limit of this run in milliseconds, at most `execution.timeout_ms_max`'
  })),
  asynchronous: Type.Optional(Type.Boolean({
    description: 'Answer at once, and run it when its turn comes. Over HTTP also the header `Prefer: respond-async`'
  })),
  wait: Type.Optional(Type.Integer({
    minimum: 0, maximum: waitMax_s,
    description: 'With `asynchronous`: how long to wait for its end, in seconds. Over HTTP also `Prefer: respond-async, wait=5`'
  })),
  priority: Type.Optional(Type.Integer({
    minimum: priorities.min, maximum: priorities.max,
    description: 'With `asynchronous`: higher ones start first; 0 by default'
  })),
  queue_ms: Type.Optional(Type.Integer({
    minimum: 1, maximum: 2_592_000_000,
    description: 'With `asynchronous`: how long it may wait for its start, in milliseconds; by default and at most `execution.queue_ms_max`'
  })),
  idempotency_key: Type.Optional(Type.String({
    minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$',
    description: 'The same key with the same request gives the first result again, without a second run. Over HTTP also the header `Idempotency-Key`'
  }))
})
export type RunOptions = Static<typeof RunOptions>

/** Runs a job as the caller wants it: now, once or later. @throws SkilletError when it is refused, or fails */
export async function runJob (
  { config, executions }: Services, job: Job, options: RunOptions, { signal, accepted }: Call
): Promise<ExecuteResult> {
  const { asynchronous, wait = 0, idempotency_key } = options
  if (asynchronous !== true) {
    refuseQueueOptions(options)
    if (idempotency_key === undefined) return shown(resultOf(await executions.run(job, signal, accepted)))
  }
  const once = onceFor(config, job, options)
  if (asynchronous !== true && once !== undefined) {
    return shown(resultOf(await executions.runOnce(job, once, signal, accepted)))
  }
  let execution = await executions.submit(job, queueOptions(config, options), once)
  accepted?.(execution.id)
  if (wait > 0 && !isFinal(execution.status)) {
    execution = await executions.wait(execution.id, wait * 1_000, signal) ?? execution
  }
  return shown(isFinal(execution.status) ? resultOf(execution) : execution)
}

/** Stores a job for another process, which starts it. @throws SkilletError when it is refused */
export async function storeJob (
  { config, executions }: Services, job: Job, options: RunOptions
): Promise<ExecuteResult> {
  const queue = { ...queueOptions(config, options), elsewhere: true }
  return shown(await executions.submit(job, queue, onceFor(config, job, options)))
}

/** The id of the execution of a result that is not the end. */
export function unfinishedId ({ execution_id, status }: ExecuteResult): string | undefined {
  return isFinal(status) ? undefined : execution_id
}

function shown ({ id, status, output, duration_ms }: Execution): ExecuteResult {
  return { execution_id: id, status, output, duration_ms }
}

function onceFor (config: Services['config'], job: Job, { idempotency_key }: RunOptions): Once | undefined {
  if (idempotency_key === undefined) return undefined
  return onceOf(idempotency_key, job, config.execution.idempotency_hours)
}

function queueOptions ({ execution: { queue_ms_max } }: Services['config'], options: RunOptions): QueueOptions {
  const { priority = 0, queue_ms = queue_ms_max } = options
  if (queue_ms > queue_ms_max) {
    throw new SkilletError('INVALID_PARAMETERS', `queue_ms must be <= ${queue_ms_max}, as execution.queue_ms_max says`)
  }
  return { priority, queue_ms }
}

/** @throws SkilletError INVALID_PARAMETERS when a run that does not wait has an option for waiting */
function refuseQueueOptions ({ wait, priority, queue_ms }: RunOptions): void {
  if (wait === undefined && priority === undefined && queue_ms === undefined) return
  const name = wait !== undefined ? 'wait' : priority !== undefined ? 'priority' : 'queue_ms'
  throw new SkilletError('INVALID_PARAMETERS', `${name} is only for an asynchronous run; set asynchronous to true`)
}
