import type { Executor } from '../contracts/executor.ts'
import type { Job } from '../contracts/services.ts'
import { runtimeOf } from '../contracts/skill.ts'
import { SkilletError } from '../lib/errors.ts'
import type { Dependencies } from './dependencies.ts'

/**
 * The executor of a job.
 * @param waiting how many executions wait already
 * @param stopping whether the server takes no new executions
 * @throws SkilletError when the job can't run now, or can never run with its parameters
 */
export function executorOf (
  job: Job, waiting: number, { config, executors }: Pick<Dependencies, 'config' | 'executors'>, stopping: boolean
): Executor {
  if (stopping) throw new SkilletError('OVERLOADED', 'The server is stopping and takes no new executions')
  if (waiting >= config.execution.queue_max) {
    const many = `${waiting} executions are waiting, as many as execution.queue_max allows`
    throw new SkilletError('OVERLOADED', `${many}; try again later`)
  }
  const runtime = runtimeOf(job.skill, job.tool)
  const executor = executors.get(runtime)
  if (executor === undefined) {
    throw new SkilletError('OVERLOADED', `No executor for the runtime "${runtime}" is running`, { runtime })
  }
  executor.check?.(job.tool, job.parameters)
  return executor
}
