import type { Outcome } from '../contracts/executor.ts'
import type { Attempt } from '../contracts/schemas.ts'
import type { RetryPolicy } from '../contracts/skill.ts'
import { delay } from '../lib/delay.ts'
import { isoTime } from '../lib/time.ts'
import type { ActiveExecution } from './active-execution.ts'

/** The longest message of an attempt in the record, in characters. */
const messageMax = 1_000

/**
 * Runs a tool again while it fails, as its policy says. The record shows each attempt.
 * @param run runs the tool once
 * @param changed callback: called when the record has a new attempt
 * @returns the outcome of the last attempt
 */
export async function runAttempts (
  active: ActiveExecution, policy: RetryPolicy, run: () => Outcome | Promise<Outcome>, changed: () => void
): Promise<Outcome> {
  const attempts: Attempt[] = active.execution.attempts = []
  for (;;) {
    const began_at = isoTime()
    const outcome = await run()
    if (active.began_ms === undefined) return outcome // the tool did not start
    const { status } = outcome
    const message = status === 'failed' ? active.clean(outcome.error.message).slice(0, messageMax) : undefined
    attempts.push({ began_at, ended_at: isoTime(), status, ...(message !== undefined && { message }) })
    const isLast = attempts.length >= policy.attempts || (status !== 'failed' && status !== 'timeout')
    if (isLast || active.abort.aborted) return outcome
    changed()
    await delay(delayBefore(attempts.length, policy), active.abort)
    if (active.abort.aborted) return { status: 'cancelled', output: '', output_truncated: false }
  }
}

/** The wait before the next attempt, in milliseconds. @param done how many attempts failed */
function delayBefore (done: number, { backoff_ms, factor, max_ms, jitter }: RetryPolicy): number {
  const whole_ms = Math.min(backoff_ms * factor ** (done - 1), max_ms)
  return Math.round(whole_ms * (1 - jitter * Math.random()))
}
