import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../../kernel/index.ts'
import { SkillOAuth, type OAuthState } from '../../toolkit/mcp/oauth.ts'

/** How long a login may take, in milliseconds. */
const login_ms = 300_000
const path = '/callback'

export interface LoginOptions {
  url: string
  scope?: string
  /** The id of a client that the authorization server knows; by default one is registered. */
  client_id?: string
  /** The port of the page to which the browser comes back; by default any free one. */
  port?: number
  show (url: URL): void
  signal: AbortSignal
}

/**
 * Logs in at the authorization server of an MCP server, as its metadata say, by the user's browser.
 * @returns the credentials
 * @throws Error in one line
 */
export async function login (options: LoginOptions): Promise<OAuthState> {
  const { url, scope: wanted, client_id, port = 0, show } = options
  const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(login_ms)])
  const nonce = randomBytes(32).toString('base64url')
  const listening = createServer()
  const state: OAuthState = { url, redirect_url: '', ...(client_id !== undefined && { client: { client_id } }) }
  try {
    await once(listening.listen(port, '127.0.0.1'), 'listening', { signal })
    state.redirect_url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}${path}`
    const answer = await fetch(url, { method: 'POST', redirect: 'manual', signal })
    await answer.body?.cancel()
    const { resourceMetadataUrl, scope = wanted } = extractWWWAuthenticateParams(answer)
    const about = {
      serverUrl: url, ...(scope !== undefined && { scope: wanted ?? scope }),
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl })
    }
    const provider = new SkillOAuth({ state, nonce, show, save: async () => {},
      ...(wanted !== undefined && { scope: wanted }) })
    const comes = callback(listening, nonce, signal)
    comes.catch(() => {}) // awaited below, unless the first step fails
    if (await auth(provider, about) === 'REDIRECT') {
      const { code, iss } = await comes
      await auth(provider, { ...about, authorizationCode: code, ...(iss !== undefined && { iss }) })
    }
  } catch (error) {
    if (signal.aborted && !options.signal.aborted) throw new Error('nobody logged in within 5 minutes',
      { cause: error })
    throw new Error(`no login at ${new URL(url).origin}: ${messageOf(error).split('\n', 1)[0]}`, { cause: error })
  } finally {
    listening.close()
    listening.closeAllConnections()
  }
  return state
}

/** Waits until the browser comes back from this login; what does not carry its state is ignored. */
async function callback (server: Server, nonce: string, signal: AbortSignal): Promise<{ code: string, iss?: string }> {
  return await new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => { reject(signal.reason as Error) }, { once: true })
    server.on('request', (request, reply) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
      const say = (status: number, text: string): void => {
        reply.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'connection': 'close' }).end(`${text}\n`)
      }
      if (pathname !== path || searchParams.get('state') !== nonce) return say(404, 'This page belongs to no login.')
      const [code, error, iss] = ['code', 'error', 'iss'].map(name => searchParams.get(name) ?? undefined)
      if (code === undefined) {
        say(400, 'The login failed. You can close this page.')
        return reject(new Error(`the authorization server says ${(error ?? 'nothing').slice(0, 200)}`))
      }
      say(200, 'You are logged in. You can close this page.')
      resolve({ code, ...(iss !== undefined && { iss }) })
    })
  })
}
