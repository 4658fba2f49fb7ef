import type { Approval, Decision } from '../../contracts/approval.ts'
import type { JsonObject } from '../../contracts/schemas.ts'
import { isObject } from '../../lib/json.ts'
import type { ActiveExecution } from '../active-execution.ts'

/** The longest text of parameters in a question, in characters. */
const parametersMax = 2_000

const schema: JsonObject = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', title: 'Approve', description: 'Whether the tool may run with these parameters' }
  },
  required: ['approve']
}

/**
 * Asks the user of the caller to approve, where the caller can ask its user.
 * @param signal aborts when somebody else has decided
 * @returns the decision; undefined where there is no answer: the request then waits for somebody else
 */
export async function askCaller (
  active: ActiveExecution, request: Approval, signal: AbortSignal
): Promise<Decision | undefined> {
  if (active.job.questions?.answers.has('form') !== true) return undefined
  const answer = await active.ask({ kind: 'form', message: messageOf(active, request), schema }, signal)
    .catch(() => undefined)
  const { digest } = request
  if (answer?.['action'] === 'decline') return { decision: 'denied', by: 'caller', digest }
  const { content } = answer ?? {}
  if (answer?.['action'] !== 'accept' || !isObject(content)) return undefined
  return { decision: content['approve'] === true ? 'approved' : 'denied', by: 'caller', digest }
}

function messageOf ({ execution }: ActiveExecution, { preview }: Approval): string {
  const { skill_name, tool_name, parameters } = execution
  const text = JSON.stringify(parameters)
  const shown = text.length > parametersMax ? `${text.slice(0, parametersMax)}… (${text.length} characters)` : text
  const what = `${skill_name}:${tool_name} needs an approval to run with ${shown}`
  return preview === undefined ? what : `${what}. It would do this:\n${preview}`
}
