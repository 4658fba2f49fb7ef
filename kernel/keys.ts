import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { Type, type Static } from 'typebox'
import { isAbsent } from './file.ts'
import { isObject } from './json.ts'
import { Choice } from './schemas.ts'
import { ACCESS_PATTERN, compileAllows, SCOPES, type Access } from './access.ts'
import { compileCheck } from './validation.ts'

/** Names of keys. `default` is the one in SERVICE_API_KEY. */
export const KEY_NAME = /^[A-Za-z0-9_-]{1,64}$/
export const defaultKeyName = 'default'

const limit = (per: string) => Type.Optional(Type.Integer({ minimum: 0, description: `Requests per ${per}, instead of server.rate_limit_per_${per}; 0: no limit` }))

/** A named key, as the configuration keeps it. */
export type KeySettings = Static<typeof KeySettings>
export const KeySettings = Type.Object({
  hash: Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: 'SHA-256 of the key' }),
  scopes: Type.Array(Choice(SCOPES), { default: [...SCOPES], description: 'What it may do' }),
  skills: Type.Array(Type.String({ pattern: ACCESS_PATTERN.source }), { default: [], maxItems: 1000, description: 'Skills it may use; all when empty' }),
  rate_limit_per_minute: limit('minute'),
  rate_limit_per_hour: limit('hour'),
  created_at: Type.Optional(Type.String({ description: 'When it was made (ISO 8601)' }))
}, { additionalProperties: false })

/** The section `[server.keys]`. */
export const KeyTable = Type.Unsafe<Record<string, KeySettings>>({
  type: 'object', default: {}, maxProperties: 10_000, propertyNames: { pattern: KEY_NAME.source, not: { const: defaultKeyName } }, additionalProperties: KeySettings,
  description: 'Named API keys, each in [server.keys.<name>]'
})

/** A new key. Only its hash is kept, so it is shown once. */
export function newKey (): string {
  return `sk_${randomBytes(32).toString('base64url')}`
}

/**
 * What is kept of a key. A plain digest and no slow one, as passwords need: nobody can try 2^256 keys, and a slow one
 * would let anybody load the server by sending wrong keys.
 */
export function hashKey (key: string): string {
  return `sha256:${hash('sha256', key, 'hex')}`
}

/** The rights of a key. */
export function accessOf (name: string, { scopes, skills }: Pick<KeySettings, 'scopes' | 'skills'>): Access {
  const allows = compileAllows(skills)
  return { key: name, scopes: new Set(scopes), ...(allows !== undefined && { allows }) }
}

let check: ReturnType<typeof compileCheck> | undefined

/**
 * The named keys in a configuration file as it is now; none when there is no file.
 * @throws Error when it can't be read, is not TOML, or its keys are not well-formed
 */
export function readKeys (path: string): Record<string, KeySettings> {
  let text
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isAbsent(error)) return {}
    throw error
  }
  return parseKeys(text)
}

/** The named keys in the text of a configuration file. @throws Error */
export function parseKeys (text: string): Record<string, KeySettings> {
  const { server } = parse(text)
  const keys: unknown = isObject(server) ? server['keys'] ?? {} : {}
  check ??= compileCheck(Type.Object({ keys: KeyTable }), '', { checked: true })
  const wrong = check({ keys })
  if (wrong !== undefined) throw new Error(wrong.replaceAll('/', '.').replace(/^body /, 'server.'))
  return keys as Record<string, KeySettings> // the check above is what makes it so
}
