import type { Execution } from '../contracts/schemas.ts'
import type { Job, Services } from '../contracts/services.ts'
import { SkilletError } from '../lib/errors.ts'
import { hasHandles, resolved } from './handles.ts'

/**
 * Makes the job of an execution that waits in the storage, as its caller was allowed to ask for it.
 * @throws SkilletError when its tool is gone, or takes other parameters now, or an output that it needs is gone
 */
export function jobOfRecord (
  services: Pick<Services, 'catalog' | 'config' | 'outputs'>, execution: Execution
): Job | Promise<Job> {
  const { parameters } = execution
  return hasHandles(parameters) ? withOutputs(services, execution) : checkedJob(services, execution, parameters)
}

async function withOutputs (
  services: Pick<Services, 'catalog' | 'config' | 'outputs'>, execution: Execution
): Promise<Job> {
  const { parameters, release } = await resolved(execution.parameters, services)
  try {
    return { ...checkedJob(services, execution, parameters), handles: { given: execution.parameters, release } }
  } catch (error) {
    release()
    throw error
  }
}

function checkedJob (
  { catalog }: Pick<Services, 'catalog'>, execution: Execution, parameters: Execution['parameters']
): Job {
  const { transport, key, queue } = execution
  const { skill, tool } = catalog.tool(execution.skill_name, execution.tool_name)
  catalog.check(skill, tool, parameters)
  if (queue === undefined) throw new SkilletError('CONFLICT', 'The execution is not asynchronous')
  return { skill, tool, parameters, timeout_ms: queue.timeout_ms, transport, key }
}
