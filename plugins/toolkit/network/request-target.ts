import type { IncomingMessage } from 'node:http'
import { destinationText, readDestination, type Destination } from './destination.ts'
import { ProxyError } from './proxy-error.ts'

/** The port of `http:` URLs. */
const httpPort = 80
/** Scheme, authority, and what follows it up to a fragment. */
const wholeUrl = /^([a-z][a-z\d+.-]*):\/\/([^/?#]*)([^#]*)/i

/** Where a CONNECT request leads. @throws ProxyError 400 when it can be read in two ways, or not at all */
export function tunnelTarget (request: IncomingMessage): Destination {
  const destination = readDestination(decoded(request.url ?? ''))
  if (destination === undefined) throw new ProxyError(400, 'CONNECT needs a host and a port, such as example.org:443')
  refuseOtherHost(request, destination)
  return destination
}

/**
 * Where a request for an `http:` URL leads, and the path there.
 * @throws ProxyError 400 when it can be read in two ways, or not at all
 */
export function forwardTarget (request: IncomingMessage): Destination & { path: string } {
  const [, scheme, authority = '', rest = ''] = wholeUrl.exec(request.url ?? '') ?? []
  if (scheme === undefined) throw new ProxyError(400, 'a proxy needs a whole URL, such as http://example.org/')
  if (scheme.toLowerCase() !== 'http') throw new ProxyError(400, `a URL of ${scheme}: needs CONNECT`)
  if (authority.includes('@')) throw new ProxyError(400, 'the URL has the name of a user: send it as Authorization')
  const destination = readDestination(decoded(authority), httpPort)
  if (destination === undefined) throw new ProxyError(400, 'the URL has no host that could be reached')
  refuseOtherHost(request, destination, httpPort)
  return { ...destination, path: rest.startsWith('/') ? rest : `/${rest}` }
}

/** Host must say the same as the target: whoever reads the request next may believe the one or the other. */
function refuseOtherHost (request: IncomingMessage, destination: Destination, defaultPort?: number): void {
  const hosts = request.headersDistinct['host'] ?? []
  if (hosts.length > 1) throw new ProxyError(400, 'the request has more than one Host')
  const [host] = hosts
  if (host === undefined) return
  const named = readDestination(decoded(host), defaultPort ?? destination.port)
  if (named !== undefined && destinationText(named) === destinationText(destination)) return
  throw new ProxyError(400, `the header Host does not say ${destinationText(destination)}, as the request does`)
}

/** Node gives the bytes of a head as Latin-1; names that are not ASCII come as UTF-8. */
function decoded (text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8')
}
