import { createHash, randomBytes } from 'node:crypto'
import { createRequestStateCodec, inputRequired, isSpecType, ProtocolError, ProtocolErrorCode, type InputRequests, type InputRequiredResult, type RequestStateCodec, type ServerContext } from '@modelcontextprotocol/server'
import { isObject } from '../../../kernel/index.ts'
import type { Terms } from '../agent/terms.ts'

/** What travels through the client between two rounds of a call: what the tool keeps, and of which call it is. */
export interface State { state: string, of: string }

/** Seals what tools keep while a client asks its user. Sealed by one process, and for ten minutes. */
export function createStates (): RequestStateCodec<State> {
  return createRequestStateCodec<State>({ key: randomBytes(32), bind: ({ mcpReq: { method }, http }) => `${method}\0${http?.authInfo?.clientId ?? ''}` })
}

type Asking = Extract<Terms, { inputRequests: unknown }>

/** Whether a client can be asked this. */
export function isAsking (terms: Terms): terms is Asking {
  return 'inputRequests' in terms && Object.keys(terms.inputRequests).length > 0 && Object.values(terms.inputRequests).every(request => isSpecType.ElicitRequest(request) || isSpecType.CreateMessageRequest(request) || isSpecType.ListRootsRequest(request))
}

/**
 * What a tool asks, as a result of MCP.
 * @param asked what the client asked for: only the same again gets the state back
 */
export async function askingResult ({ inputRequests, requestState }: Asking, asked: unknown, ctx: ServerContext, states: RequestStateCodec<State>): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: inputRequests as InputRequests, // isAsking checked it
    ...(requestState !== undefined && { requestState: await states.mint({ state: requestState, of: digestOf(asked) }, ctx) })
  })
}

/**
 * What the tool kept of the round before; its seal was checked.
 * @throws ProtocolError when it is that of another call
 */
export function stateOf ({ mcpReq }: ServerContext, asked: unknown): string | undefined {
  const kept = mcpReq.requestState<State>()
  if (kept === undefined) return undefined
  if (kept.of !== digestOf(asked)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState is that of another request')
  return kept.state
}

function digestOf (asked: unknown): string {
  return createHash('sha256').update(JSON.stringify(sorted(asked)) ?? '').digest('base64url')
}

/** The same value with the keys of its objects in order: clients may write a request anew. */
function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  return isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, one]) => [key, sorted(one)])) : value
}
