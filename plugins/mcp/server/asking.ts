import { createHash, randomBytes } from 'node:crypto'
import {
  createRequestStateCodec, inputRequired, isSpecType, ProtocolError, ProtocolErrorCode, type InputRequests,
  type InputRequiredResult, type RequestStateCodec, type ServerContext
} from '@modelcontextprotocol/server'
import { isObject } from '../../../kernel/index.ts'
import type { Terms } from '../agent/terms.ts'
import type { ClientRequest } from './questions.ts'

/**
 * The data that the client carries between two rounds of a call: the state of the tool or the conversation that goes
 * on, and an identification of the call.
 */
export interface State { state?: string, of: string, conversation?: string }

/**
 * Seals the state of tools while a client asks its user. The seal is valid only in this process, and for ten minutes.
 */
export function createStates (): RequestStateCodec<State> {
  return createRequestStateCodec<State>(
    { key: randomBytes(32), bind: ({ mcpReq: { method }, http }) => `${method}\0${http?.authInfo?.clientId ?? ''}` }
  )
}

/** The questions of a tool, in the terms of its output. */
export type Asking = Extract<Terms, { inputRequests: unknown }>

/** Whether a client can be asked these questions. */
export function isAsking (terms: Terms): terms is Asking {
  return 'inputRequests' in terms
    && Object.keys(terms.inputRequests).length > 0
    && Object.values(terms.inputRequests).every(request =>
      isSpecType.ElicitRequest(request)
      || isSpecType.CreateMessageRequest(request)
      || isSpecType.ListRootsRequest(request))
}

/**
 * The questions of a tool, as an MCP result.
 * @param request the client's request: only the same request gets the state back
 */
export async function askingResult (
  { inputRequests, requestState }: Asking, request: unknown, ctx: ServerContext, states: RequestStateCodec<State>
): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: inputRequests as InputRequests, // isAsking checked the type
    ...(requestState !== undefined
      && { requestState: await states.mint({ state: requestState, of: digestOf(request) }, ctx) })
  })
}

/** The question of a call that runs on, as an MCP result. @param request as in `askingResult` */
export async function roundResult (
  { id, key, question }: { id: string, key: string, question: ClientRequest },
  request: unknown, ctx: ServerContext, states: RequestStateCodec<State>
): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: { [key]: question } as InputRequests, // `requestOf` checked the type
    requestState: await states.mint({ conversation: id, of: digestOf(request) }, ctx)
  })
}

/**
 * What the client carried from the round before; the seal was already checked.
 * @throws ProtocolError when the state belongs to another call
 */
export function stateOf ({ mcpReq }: ServerContext, request: unknown): State | undefined {
  const kept = mcpReq.requestState<State>()
  if (kept === undefined) return undefined
  if (kept.of !== digestOf(request)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState is that of another request')
  }
  return kept
}

function digestOf (value: unknown): string {
  return createHash('sha256').update(JSON.stringify(sorted(value)) ?? '').digest('base64url')
}

/**
 * The same value with sorted keys in its objects: a client may write the keys of a repeated request in another order.
 */
function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  return isObject(value)
    ? Object.fromEntries(
      Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, field]) => [key, sorted(field)])
    )
    : value
}
