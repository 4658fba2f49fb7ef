import { createHash, timingSafeEqual } from 'node:crypto'
import { SkilletError } from '../../kernel/index.ts'
import { headerOf, type HeaderBlock } from './server.ts'

/** Checks the API key of a request. */
export type KeyCheck = (headers: HeaderBlock) => void

/**
 * @param key undefined where no authentication is required
 * @returns a check that throws SkilletError UNAUTHORIZED
 */
export function keyCheck (key: string | undefined): KeyCheck {
  if (key === undefined) return () => {}
  const expected = digest(key)
  // Digests have one length, so that the time of the comparison tells nothing of the key.
  const matches = (given: string | undefined): boolean => given !== undefined && timingSafeEqual(digest(given), expected)
  return headers => {
    const authorization = headerOf(headers, 'authorization')
    const bearer = authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1]
    const apiKey = headerOf(headers, 'x-api-key')
    if (matches(bearer) || matches(apiKey)) return
    const given = authorization !== undefined || apiKey !== undefined
    throw new SkilletError('UNAUTHORIZED', given ? 'The API key is not valid' : 'An API key is required: send "Authorization: Bearer KEY" or "X-API-Key: KEY"')
  }
}

/** The key that requests must carry; undefined where none is required. @throws Error when one is required and there is none */
export function requiredKey (auth_required: boolean, env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (!auth_required) return undefined
  const key = env['SERVICE_API_KEY']
  if (key === undefined || key === '') throw new Error('server.auth_required needs the key in the environment variable SERVICE_API_KEY')
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error('SERVICE_API_KEY holds characters that no header can carry; use printable ASCII without spaces')
  return key
}

function digest (text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
