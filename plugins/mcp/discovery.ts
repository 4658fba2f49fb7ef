import { createHash } from 'node:crypto'
import type { EndpointRoute, Version } from '../../kernel/index.ts'

/** The card of the server, and the catalog of this host, which says where the card is. */
const cardPath = '/mcp/server-card'
const catalogPath = '/.well-known/ai-catalog.json'
const cardType = 'application/mcp-server-card+json'
const catalogType = 'application/ai-catalog+json'

/** A program on its user's machine has no domain of its own. */
const publisher = 'localhost'

/** The revisions of the protocol at `/mcp`. */
const httpRevisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const

/**
 * The paths by which clients find this server (SEP-2127). They need no key, since they hold nothing of its user. Pages
 * of other origins may not read them, unless `server.cors_origins` names these: a page could learn what runs here.
 */
export const discoveryRoutes: readonly EndpointRoute[] =
  [cardPath, catalogPath].map(path => ({ method: 'GET', path, access: 'open' }))

/** Answers a request for the card or the catalog; undefined for any other. */
export function discover (request: Request, version: Version): Response | undefined {
  const { pathname } = new URL(request.url)
  const base = `http://${request.headers.get('host') ?? publisher}`
  switch (pathname) {
    case cardPath: return documentOf(request, cardType, cardOf(base, version))
    case catalogPath: return documentOf(request, catalogType, catalogOf(base))
    default: return undefined
  }
}

function cardOf (base: string, { version }: Version): object {
  const key = {
    name: 'Authorization', description: 'Bearer, and an API key, where the server asks for one', isSecret: true
  }
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${publisher}/skillet`,
    title: 'Skillet',
    version,
    description: 'Lists, searches and runs tools of the skills that are installed on this machine',
    remotes: [
      { type: 'streamable-http', url: `${base}/mcp`, headers: [key], supportedProtocolVersions: httpRevisions },
      { type: 'sse', url: `${base}/sse`, headers: [key], supportedProtocolVersions: ['2024-11-05'] }
    ]
  }
}

function catalogOf (base: string): object {
  const entry = { identifier: `urn:air:${publisher}:mcp:skillet`, type: cardType, url: `${base}${cardPath}` }
  return { specVersion: '1.0', entries: [entry] }
}

function documentOf (request: Request, type: string, content: object): Response {
  const body = JSON.stringify(content)
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  const headers = {
    'content-type': type,
    etag,
    'cache-control': 'public, max-age=3600',
    vary: 'Host'
  }
  const known = request.headers.get('if-none-match')?.split(',').map(tag => tag.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
    ? new Response(null, { status: 304, headers })
    : new Response(body, { headers })
}
