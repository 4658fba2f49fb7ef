import { Type, type Static } from 'typebox'
import { defineSection, KeyTable, schemas, textList } from '../../kernel/index.ts'

const mebibyte = 1_048_576

export type ServerSettings = Static<typeof serverSection.schema>
export const serverSection = defineSection('server', 'The HTTP server', {
  host: Type.String({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on' }),
  port: Type.Integer({
    default: 3000, minimum: 0, maximum: 65_535, description: 'Port to listen on; 0 picks a free one'
  }),
  auth_required: Type.Boolean({
    default: false, description: 'Requests need an API key: a named one, or the one in SERVICE_API_KEY'
  }),
  allow_insecure: Type.Boolean({ default: false, description: 'Allow a non-loopback host without authentication' }),
  allowed_hosts: textList('Host names accepted beyond the server\'s own addresses and localhost'),
  cors_origins: Type.Array(Type.String(), {
    default: ['local'], maxItems: 1000,
    description: 'Origins that may call from a web page; "local": any port of localhost, 127.0.0.1 and [::1]'
  }),
  rate_limit_per_minute: Type.Integer({
    default: 1000, minimum: 0,
    description: 'Requests per minute of a key, or of an address without one; 0: no limit'
  }),
  rate_limit_per_hour: Type.Integer({ default: 10_000, minimum: 0, description: 'Requests per hour, likewise' }),
  failed_auth_limit_per_minute: Type.Integer({
    default: 30, minimum: 0, description: 'Requests with a wrong API key per minute of an address; 0: no limit'
  }),
  trusted_proxies: textList('Addresses or ranges (CIDR) of proxies whose X-Forwarded-For is believed'),
  keys: KeyTable,
  body_bytes_max: Type.Integer({
    default: mebibyte, minimum: 1024, maximum: 64 * mebibyte, description: 'Largest request body, in bytes'
  }),
  bodies_bytes_max: Type.Integer({
    default: 64 * mebibyte, minimum: 1024,
    description: 'Bytes of request bodies held at once, those of running calls included; beyond it requests are refused'
  }),
  streams_max: Type.Integer({
    default: 4096, minimum: 1, maximum: 1_000_000,
    description: 'Streams of events and WebSockets that may be open at once; one caller may have half of them'
  }),
  body_timeout_ms: Type.Integer({
    default: 30_000, minimum: 100, maximum: 600_000,
    description: 'How long a request body may take to arrive, in milliseconds'
  })
})

/** The options in `[plugin.http]`. */
const options = Type.Object({
  engine: schemas.Choice(['auto', 'uws', 'node'], {
    default: 'auto', description: 'uws: uWebSockets.js; node: node:http; auto: uWebSockets.js where it loads'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'http', sections: [serverSection], options }
