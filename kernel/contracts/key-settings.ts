import { Type, type Static } from 'typebox'
import { ACCESS_PATTERN, SCOPES, usualScopes } from './access.ts'
import { Choice } from './schemas.ts'

/** Names of keys. `default` is the name of the key in SERVICE_API_KEY. */
export const KEY_NAME = /^[A-Za-z0-9_-]{1,64}$/
export const defaultKeyName = 'default'

const limit = (per: string) => Type.Optional(
  Type.Integer({ minimum: 0, description: `Requests per ${per}, instead of server.rate_limit_per_${per}; 0: no limit` })
)

/** A named key, as it is stored in the configuration. */
export type KeySettings = Static<typeof KeySettings>
export const KeySettings = Type.Object({
  hash: Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: 'SHA-256 of the key' }),
  scopes: Type.Array(Choice(SCOPES), { default: [...usualScopes], description: 'What it may do' }),
  skills: Type.Array(
    Type.String({ pattern: ACCESS_PATTERN.source }),
    { default: [], maxItems: 1000, description: 'Skills it may use; all when empty' }
  ),
  rate_limit_per_minute: limit('minute'),
  rate_limit_per_hour: limit('hour'),
  created_at: Type.Optional(Type.String({ description: 'When it was made (ISO 8601)' }))
}, { additionalProperties: false })

/** The section `[server.keys]`. */
export const KeyTable = Type.Unsafe<Record<string, KeySettings>>({
  type: 'object', default: {}, maxProperties: 10_000,
  propertyNames: { pattern: KEY_NAME.source, not: { const: defaultKeyName } }, additionalProperties: KeySettings,
  description: 'Named API keys, each in [server.keys.<name>]'
})
