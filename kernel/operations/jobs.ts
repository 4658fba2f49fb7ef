import type { Call } from '../contracts/call.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import type { Job, Services } from '../contracts/services.ts'
import { SkilletError } from '../lib/errors.ts'

/** A request to run a tool. */
export interface RunRequest {
  skill_name: string
  tool_name: string
  /** Default values are filled into this object. */
  parameters: JsonObject
  timeout_ms?: number
}

/** Makes the job of a request. @throws SkilletError when it names no tool, or its parameters are invalid */
export function jobOf (
  { catalog, config }: Pick<Services, 'catalog' | 'config'>,
  { skill_name, tool_name, parameters, timeout_ms }: RunRequest,
  { transport, access, questions }: Pick<Call, 'transport' | 'access' | 'questions'>
): Job {
  const { skill, tool } = catalog.tool(skill_name, tool_name)
  catalog.check(skill, tool, parameters)
  const { timeout_ms: usual_ms, timeout_ms_max } = config.execution
  if (timeout_ms !== undefined && timeout_ms > timeout_ms_max) {
    throw new SkilletError(
      'INVALID_PARAMETERS',
      `timeout_ms must be <= ${timeout_ms_max}, as execution.timeout_ms_max says`
    )
  }
  return {
    skill,
    tool,
    parameters,
    timeout_ms: Math.min(timeout_ms ?? tool.timeout_ms ?? usual_ms, timeout_ms_max),
    transport,
    key: access?.key ?? null,
    questions
  }
}
