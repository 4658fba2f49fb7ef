import type { ServerContext } from '@modelcontextprotocol/server'
import type { Access, Call } from '../../kernel/index.ts'

/** The rights of a request travel through the SDK as what it calls authentication; a request without any has all. */
export function authOf ({ access }: Call): { token: string, clientId: string, scopes: string[], extra: Record<string, unknown> } {
  return { token: '', clientId: access?.key ?? '', scopes: [], extra: { access } }
}

/** The call that a request makes. */
export function callOf ({ http, mcpReq: { signal } }: ServerContext): Call {
  const access = http?.authInfo?.extra?.['access'] as Access | undefined // as authOf put it there
  return { transport: 'mcp', signal, access }
}
