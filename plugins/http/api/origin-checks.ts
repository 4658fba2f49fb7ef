import { SkilletError } from '../../../kernel/index.ts'
import type { OwnHosts } from '../access/hosts.ts'
import { corsHeaders, preflightHeaders, type Origins } from '../access/origins.ts'
import type { Framing } from '../engine/framing.ts'
import { headerOf, type Exchange } from '../engine/server.ts'
import type { RequestContext } from './request-context.ts'
import type { Target } from './target.ts'

/**
 * Checks that a request is well-formed and for this server.
 * @returns the value of the Host header
 * @throws SkilletError for a malformed request, and FORBIDDEN for a host that is not a name of this server
 */
export function checkHost ({ headers }: Exchange, { refusal }: Framing, hosts: OwnHosts): string {
  if (refusal !== undefined) throw refusal
  const host = headerOf(headers, 'host') ?? ''
  if (!hosts.has(host)) {
    const name = host.slice(0, 256)
    throw new SkilletError(
      'FORBIDDEN',
      `"${name}" is not a name of this server; add it to server.allowed_hosts if it is`
    )
  }
  return host
}

/**
 * Checks that a page of another origin may do what its request asks for.
 * @param target the handler; undefined where there is none
 * @returns the headers for a page of an allowed origin; undefined where none are needed
 * @throws SkilletError FORBIDDEN
 */
export function checkOrigin (
  { exchange: { headers, method }, framing }: RequestContext,
  host: string,
  target: Target | undefined,
  origins: Origins
): string[] | undefined {
  const origin = headerOf(headers, 'origin')
  if (origin !== undefined && origins.allows(origin, host)) return corsHeaders(origin)
  const reads = !framing.upgrade && (method === 'GET' || method === 'HEAD') && target?.writes !== true
  if (reads) return undefined
  if (origin !== undefined) {
    const name = origin.slice(0, 256)
    throw new SkilletError(
      'FORBIDDEN',
      `Pages of the origin "${name}" may not do this; server.cors_origins names those that may`
    )
  }
  // Browsers send an Origin header with every write; this check is for a browser that left it out.
  if (headerOf(headers, 'sec-fetch-site') === 'cross-site') {
    throw new SkilletError('FORBIDDEN', 'Pages of other origins may not do this')
  }
  return undefined
}

/** The headers with which a page of an allowed origin learns what it may send; none for other callers. */
export function preflightOf ({ cors, exchange: { headers } }: RequestContext, allow: string): string[] {
  const isPreflight = cors !== undefined && headerOf(headers, 'access-control-request-method') !== undefined
  return isPreflight ? preflightHeaders(allow, headerOf(headers, 'access-control-request-headers')) : []
}
