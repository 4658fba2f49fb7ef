import type { Bus } from '../contracts/bus.ts'
import type { Outcome } from '../contracts/executor.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { ERRORS, type ErrorCode } from '../lib/errors.ts'
import type { ActiveExecution } from './active-execution.ts'
import type { ExecutionEvent } from './execution.machine.ts'
import type { OutputFiles } from './output-files.ts'
import { move } from './record.ts'
import { isFinal } from './transitions.ts'

/** Closes the record with the outcome of the run. @param output the output without secrets */
export function conclude (active: ActiveExecution, outcome: Outcome, output: string, bus: Bus): void {
  const { execution, job } = active
  if (isFinal(execution.status)) return // `drain` has closed the record without the run
  execution.output = output
  execution.output_truncated = outcome.output_truncated
  if (active.began_ms === undefined && (outcome.status === 'success' || outcome.status === 'timeout')) {
    throw new Error(`the executor of ${execution.runtime} answered without having started`)
  }
  switch (outcome.status) {
    case 'success':
      move(execution, 'succeed', bus, active.began_ms)
      break
    case 'failed':
      return fail(active, 'TOOL_EXECUTION_FAILED', outcome.error.message, outcome.error.details, 'fail', bus)
    case 'timeout': {
      const message = `${job.skill.name}:${job.tool.name} went past its time limit of ${job.timeout_ms} ms`
      return fail(active, 'TIMEOUT', message, { timeout_ms: job.timeout_ms }, 'expire', bus)
    }
    case 'cancelled': return failEnding(active, bus)
  }
}

/** As `conclude`, for an output of which the record keeps the beginning and a file the whole. */
export async function concludeLarge (
  active: ActiveExecution, outcome: Outcome, output: string, files: Pick<OutputFiles, 'keep'>, bus: Bus
): Promise<void> {
  const { execution } = active
  const kept = await files.keep(execution.id, output)
  conclude(active, { ...outcome, output_truncated: true }, kept.output, bus)
  if ('bytes' in kept) execution.output_file_bytes = kept.bytes
}

/** Closes the record of a run that the kernel has ended, with the reason. */
export function failEnding (active: ActiveExecution, bus: Bus): void {
  const { ending } = active
  if (ending === 'interrupt') return fail(active, 'INTERRUPTED', ERRORS.INTERRUPTED.meaning, {}, ending, bus)
  if (ending === 'cancel') return fail(active, 'CANCELLED', ERRORS.CANCELLED.meaning, {}, ending, bus)
  const message = `${ERRORS.CANCELLED.meaning}: a newer one took its place, as the concurrency rule of its tool says`
  fail(active, 'CANCELLED', message, { superseded_by: ending.superseded_by }, 'cancel', bus)
}

/** Closes the record with an error, without the secrets of the run. */
export function fail (
  active: ActiveExecution, code: ErrorCode, message: string, details: JsonObject, event: ExecutionEvent['type'],
  bus: Bus
): void {
  const { execution, job, redactor } = active
  if (isFinal(execution.status)) return
  const redacted = redactor === undefined ? { message, details } : redactor.failure(message, details)
  const of = { skill: job.skill.name, tool: job.tool.name, execution_id: execution.id }
  execution.error = { code, message: redacted.message, details: { ...of, ...redacted.details } }
  move(execution, event, bus, active.began_ms)
}
