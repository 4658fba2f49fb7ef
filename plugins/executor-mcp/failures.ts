import { messageOf, Unanswered, within, type Outcome, type Output } from '../../kernel/index.ts'
import type { Session } from './session.ts'

export const noOutput: Output = { output: '', output_truncated: false }

/** How long the end of a server may take to be known after its connection ended, in milliseconds. */
const end_ms = 1_000

/** The outcome of a call that was not sent. */
export function refused (message: string): Outcome {
  return { status: 'failed', ...noOutput, error: { message, details: {} } }
}

/** The outcome of a call that was sent and has no result. It is never sent again. */
export async function lostIn (session: Session, tool: string, error: unknown): Promise<Outcome> {
  const refusal = session.refusal?.(error)
  if (refusal !== undefined) return refused(`${tool} was refused: ${refusal}`)
  const { code, message } = factsOf(error)
  const isConnection = code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED' || code === 'SEND_FAILED'
  if (await within(isConnection ? end_ms : 0, session.ended)) {
    return refused(`the MCP server ended during ${tool}: ${await session.ended}; whether the tool did its work is unknown, and it was not called again`)
  }
  if (code === 'INVALID_RESULT') return refused(
    `the MCP server answered ${tool} with something that is not of MCP: ${message}`
  )
  if (error instanceof Unanswered) return refused(`${tool} asked for something, and got no answer: ${message}`)
  const details = typeof code === 'number' ? { code } : {}
  return { status: 'failed', ...noOutput, error: { message: `${tool} failed: ${message}`, details } }
}

function factsOf (error: unknown): { code: unknown, message: string } {
  const [message = ''] = messageOf(error).split('\n', 1)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return { code, message: message.length > 500 ? `${message.slice(0, 500)}…` : message }
}
