import type { Executor, Outcome, Task } from '../contracts/executor.ts'
import type { ActiveExecution } from './active-execution.ts'
import type { ActiveExecutions } from './active-executions.ts'
import { runAttempts } from './attempts.ts'
import type { SkillInputs } from './skill-inputs.ts'

/** Runs the tool of an execution; again after a failure, where it has a policy for that. */
export function runTool (
  active: ActiveExecution, executor: Executor, inputs: SkillInputs, all: ActiveExecutions
): Outcome | Promise<Outcome> {
  const { execution, job, secrets } = active
  if (secrets?.refusal !== undefined) {
    return { status: 'failed', output: '', output_truncated: false, error: { message: secrets.refusal, details: {} } }
  }
  const task: Task = {
    execution_id: execution.id,
    skill: job.skill,
    tool: job.tool,
    parameters: job.parameters,
    timeout_ms: job.timeout_ms,
    config: inputs.settingsOf(job.skill),
    ...(secrets !== undefined && { secrets: secrets.values })
  }
  const { retry } = job.tool
  if (retry === undefined) return executor.run(task, active, active.abort)
  return runAttempts(active, retry, () => executor.run(task, active, active.abort), () => { all.saveAgain(active) })
}
