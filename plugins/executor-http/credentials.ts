import { createHash } from 'node:crypto'
import { decodeJson, isObject } from '../../kernel/index.ts'
import { Allowed } from '../toolkit/net/addresses.ts'
import { explain, send } from '../toolkit/net/request.ts'
import type { Target, TargetAuth } from '../toolkit/openapi/target.ts'
import { nameOf, valueOf, type Head } from './build-request.ts'

/** The largest answer with a token, in bytes. */
const tokenBytesMax = 65_536
/** The most tokens that are kept. */
const tokensMax = 256
/** A token is not used any more so long before it expires, in milliseconds. */
const early_ms = 30_000
/** How long a token is used whose answer does not say when it expires, in milliseconds. */
const unknown_ms = 300_000

interface Token { token: string, until_ms: number }

/** Adds credentials to requests, and keeps the tokens of OAuth in memory until they expire. */
export class Credentials {
  readonly #tokens = new Map<string, Token>()

  /**
   * Adds the credentials of an operation to a request to its server.
   * @throws Error naming the secret that is missing or can't be sent
   */
  async add (
    { url, headers }: Head, target: Target, secrets: Readonly<Record<string, string>>, signal: AbortSignal
  ): Promise<Head> {
    const added: Head = { url: new URL(url), headers: { ...headers } }
    for (const auth of target.auth) {
      const [first, second] = auth.secrets.map(name => secretOf(secrets, name))
      const value = first ?? ''
      switch (auth.kind) {
        case 'header': added.headers[nameOf(auth.name ?? '')] = valueOf(value, auth.secrets[0] ?? ''); break
        case 'query': added.url.searchParams.set(auth.name ?? '', value); break
        case 'cookie': {
          const cookie = `${encodeURIComponent(auth.name ?? '')}=${encodeURIComponent(value)}`
          const before = added.headers['cookie']
          added.headers['cookie'] = before === undefined ? cookie : `${before}; ${cookie}`
          break
        }
        case 'bearer': added.headers['authorization'] = `Bearer ${valueOf(value, auth.secrets[0] ?? '')}`; break
        case 'basic': added.headers['authorization'] = basic(value, second ?? ''); break
        case 'oauth2': {
          const token = await this.#token(auth, value, second ?? '', target, signal)
          added.headers['authorization'] = `Bearer ${valueOf(token, 'the token')}`
          break
        }
        default: auth.kind satisfies never
      }
    }
    return added
  }

  /** Forgets the tokens that a server refused. */
  forget ({ auth }: Target, secrets: Readonly<Record<string, string>>): void {
    for (const one of auth) {
      this.#tokens.delete(keyOf(one, one.secrets.map(name => secrets[name] ?? '')))
    }
  }

  async #token (
    auth: TargetAuth, id: string, secret: string, target: Target, signal: AbortSignal
  ): Promise<string> {
    const key = keyOf(auth, [id, secret])
    const kept = this.#tokens.get(key)
    if (kept !== undefined && kept.until_ms > Date.now()) return kept.token
    const { token, lasts_ms } = await askForToken(auth, id, secret, target, signal)
    const [oldest] = this.#tokens.keys()
    if (this.#tokens.size >= tokensMax && oldest !== undefined) this.#tokens.delete(oldest)
    this.#tokens.set(key, { token, until_ms: Date.now() + lasts_ms })
    return token
  }
}

function secretOf (secrets: Readonly<Record<string, string>>, name: string): string {
  const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined
  if (value === undefined) throw new Error(`the secret ${name} is not in permissions.secrets of skill.toml`)
  return value
}

function basic (name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

function keyOf ({ token_url = '', scopes = [] }: TargetAuth, secrets: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify([token_url, scopes, secrets])).digest('hex')
}

/** Asks for a token by the client credentials (RFC 6749, 4.4). */
async function askForToken (
  { token_url = '', scopes = [] }: TargetAuth, id: string, secret: string, target: Target, signal: AbortSignal
): Promise<{ token: string, lasts_ms: number }> {
  const url = new URL(token_url, `${target.server}/`)
  const isSame = url.origin === new URL(target.server).origin
  if (url.protocol !== 'https:' && !isSame) throw new Error(`${url.origin} is asked for tokens by https only`)
  const scope = scopes.length > 0 && { scope: scopes.join(' ') }
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...scope })
  const reply = await send(url, {
    method: 'POST',
    headers: {
      accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded',
      authorization: basic(encodeURIComponent(id), encodeURIComponent(secret))
    },
    body: Buffer.from(form.toString()), bytes_max: tokenBytesMax, signal,
    allowed: new Allowed('[http] private in skill.toml', target.private && isSame ? [url.host] : [])
  }).catch((error: unknown) => { throw new Error(`${url.origin} gives no token: ${explain(error)}`, { cause: error }) })
  const answer = reply.status === 200 ? tryJson(reply.body) : undefined
  const token = isObject(answer) ? answer['access_token'] : undefined
  if (!isObject(answer) || typeof token !== 'string') {
    throw new Error(`${url.origin} gives no token: it answers ${reply.status} ${reply.status_text}`.trimEnd())
  }
  const seconds = Number(answer['expires_in'])
  return { token, lasts_ms: seconds > 0 ? Math.max(0, Math.min(seconds, 86_400) * 1000 - early_ms) : unknown_ms }
}

function tryJson (body: Buffer): unknown {
  try {
    return decodeJson(body)
  } catch {
    return undefined
  }
}
