import {
  ProtocolError, ProtocolErrorCode, type CallToolResult, type InputRequiredResult, type Server, type ServerContext
} from '@modelcontextprotocol/server'
import type { AgentCall, ClientCall } from '../agent/agent-tool.ts'
import { roundResult, stateOf } from './asking.ts'
import type { Conversation } from './conversations.ts'
import type { Host } from './host.ts'
import { answeredBy, liveQuestions } from './questions.ts'

type Result = CallToolResult | InputRequiredResult

/** A request of a client to run a tool. */
export interface ToolRequest {
  /** The name of the tool and its input. */
  request: readonly [string, unknown]
  call: ClientCall
  server: Server
  ctx: ServerContext
  host: Host
  /** Counts what must end before the process may: rounds, and calls that go on between them. */
  running (change: 1 | -1): void
}

/**
 * Runs a tool that may ask its caller. A client of 2025 is asked while its request runs. A client of 2026 gets the
 * question as an answer, and sends the request again with its own answer.
 * @param start called when the request begins a call
 * @throws ProtocolError when the call that the request goes on with has ended
 */
export async function callInRounds (
  tool: ToolRequest, start: () => Promise<(call: AgentCall) => Promise<Result>>
): Promise<Result> {
  const { request, call, server, ctx, host, running } = tool
  const id = stateOf(ctx, request)?.conversation
  if (id !== undefined) {
    const conversation = host.conversations.take(id)
    if (conversation === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The call that asked has ended; call the tool again')
    }
    conversation.answer(call.client.answers ?? {})
    return await converse(conversation, tool)
  }
  const perform = await start()
  const spoken = (): boolean => false
  const answers = answeredBy(ctx.mcpReq.envelope === undefined ? {} : call.client.capabilities ?? {})
  if (answers.size > 0) {
    const conversation = host.conversations.open(answers)
    const accepted = (id: string): void => { conversation.follow(id) }
    const { signal } = conversation
    running(1)
    conversation.begin(
      perform({ ...call, signal, questions: conversation, spoken, accepted }).finally(() => { running(-1) })
    )
    return await converse(conversation, tool)
  }
  running(1)
  const report = host.reports.begin(ctx, request[0])
  try {
    const accepted = (id: string): void => { report.follow(id) }
    return await perform({ ...call, questions: liveQuestions(server, ctx), spoken, accepted })
  } finally {
    await report.end()
    running(-1)
  }
}

/** A round of a call: its result, or the next question to the client. */
async function converse (conversation: Conversation<Result>, { request, ctx, host,
  running }: ToolRequest): Promise<Result> {
  running(1)
  const report = host.reports.begin(ctx, request[0])
  const stop = conversation.onExecution(id => { report.follow(id) })
  try {
    const round = await conversation.round(ctx.mcpReq.signal)
    if ('result' in round) return round.result
    host.conversations.keep(conversation)
    return await roundResult({ id: conversation.id, ...round }, request, ctx, host.states)
  } finally {
    stop()
    await report.end()
    running(-1)
  }
}
