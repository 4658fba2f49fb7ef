import {
  CLIENT_CAPABILITIES_META_KEY, type AuthInfo, type Server, type ServerContext
} from '@modelcontextprotocol/server'
import { isObject, type Access, type Call, type JsonObject } from '../../../kernel/index.ts'
import type { ClientCall } from '../agent/agent-tool.ts'
import { stateOf } from './asking.ts'

/**
 * The rights of a request, in the field that the SDK uses for authentication; a request without this field has all
 * rights.
 */
export function authOf (
  { access }: Call
): { token: string, clientId: string, scopes: string[], extra: Record<string, unknown> } {
  return { token: '', clientId: access?.key ?? '', scopes: [], extra: { access } }
}

export function accessIn (authInfo: AuthInfo | undefined): Access | undefined {
  return authInfo?.extra?.['access'] as Access | undefined // authOf set it
}

/** The call for a request. */
export function callOf ({ http, mcpReq: { signal } }: ServerContext): Call {
  return { transport: 'mcp', signal, access: accessIn(http?.authInfo) }
}

/** The call for a request that runs a tool, with the client's own input. */
export function callWithClient (ctx: ServerContext, server: Server, request: unknown): ClientCall {
  const { inputResponses: answers, envelope } = ctx.mcpReq
  const declared = (envelope as JsonObject | undefined)?.[CLIENT_CAPABILITIES_META_KEY]
    ?? server.getClientCapabilities()
  return {
    ...callOf(ctx),
    client: { answers, state: stateOf(ctx, request)?.state, capabilities: isObject(declared) ? declared : {} }
  }
}
