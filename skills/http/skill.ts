import { defineSkill, type ToolContext } from '../../kernel/skill.ts'

/** The most bytes of a body: in base64, and with the rest, they fit into an output of 1 MiB. */
const bytesMax = 700_000

const url =
  { type: 'string', description: 'The URL, http or https', required: true, minLength: 1, maxLength: 8192 } as const
const headers = {
  type: 'object',
  description: 'Headers to send, such as {"accept": "application/json"}; where it redirects to another host they are left off',
  default: {},
  maxProperties: 50, additionalProperties: { type: 'string', maxLength: 8192 }
} as const
const authorization = {
  type: 'string',
  description: 'The header Authorization, such as `Bearer …`; never stored, and left off where it redirects to another host',
  secret: true,
  minLength: 1,
  maxLength: 8192
} as const
const redirects = {
  type: 'integer',
  description: 'How many redirects are followed; with 0, a redirect is given as it is',
  default: 5,
  minimum: 0,
  maximum: 20
} as const
const timeout_ms = {
  type: 'integer',
  description: 'How long all of it may take, in milliseconds',
  default: 20_000,
  minimum: 1,
  maximum: 120_000
} as const
const bytes_max = {
  type: 'integer', description: 'How many bytes of the body are kept', default: 200_000, minimum: 1, maximum: bytesMax
} as const

/** Above the longest `timeout_ms`, whose message says more. */
const limit_ms = 125_000

export default defineSkill({
  tools: {
    get: {
      description: 'Fetch a URL or call an API (HTTP GET) and give all of the reply: status, headers, and the body as text or, where it is none, in base64; where it redirected',
      parameters: {
        url, headers, authorization, redirects, timeout_ms, bytes_max,
        as: {
          type: 'string',
          description: 'How the body is given: by what it is, as text, or in base64',
          enum: ['auto', 'text', 'base64'],
          default: 'auto'
        }
      },
      timeout_ms: limit_ms,
      async run ({ as, ...how }, context) {
        const { body, truncated, headers, ...reply } = await fetched('GET', how, context)
        const { decodeText, isText } = await import('../shared/text.ts')
        const type = headers['content-type'] ?? ''
        const { text, charset } = decodeText(body, type)
        const given = as === 'text' || (as === 'auto' && isText(body, type))
          ? { charset, body: text }
          : { body_base64: body.toString('base64') }
        return { ...reply, headers, bytes: body.length, truncated, ...given }
      }
    },

    body: {
      description: 'Download the text behind a URL (HTTP GET), the body alone; fails when the status is not one of success',
      parameters: { url, headers, authorization, redirects, timeout_ms, bytes_max },
      timeout_ms: limit_ms,
      async run (how, context) {
        const { status, status_text, url, body, truncated, headers } = await fetched('GET', how, context)
        if (status < 200 || status > 299) throw new Error(`${url} answers ${status} ${status_text}`.trimEnd())
        const { decodeText, isText } = await import('../shared/text.ts')
        const type = headers['content-type'] ?? ''
        if (!isText(body, type)) throw new Error(`${url} is no text (${type || 'of no known type'}); use get`)
        const { text } = decodeText(body, type)
        return truncated ? `${text}\n(cut at ${body.length} bytes)` : text
      }
    },

    head: {
      description: 'Check a URL without downloading it (HTTP HEAD): whether the link works, where it redirects to, its type, size and time of change, and all headers',
      parameters: { url, headers, authorization, redirects, timeout_ms },
      timeout_ms: limit_ms,
      async run (how, context) {
        const { url, status, status_text, headers, redirects } =
          await fetched('HEAD', { ...how, bytes_max: 1 }, context)
        return { url, redirects, status, status_text, headers }
      }
    }
  }
})

interface How {
  url: string
  headers: Record<string, unknown>
  authorization?: string
  redirects: number
  timeout_ms: number
  bytes_max: number
}

async function fetched (
  method: 'GET' | 'HEAD',
  { url, headers, authorization, redirects, timeout_ms, bytes_max }: How,
  { config, signal }: ToolContext
): Promise<import('../shared/fetch.ts').Fetched> {
  const { Allowed, fetchUrl } = await import('../shared/fetch.ts')
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  return await fetchUrl(url, {
    method,
    headers: { ...texts, ...(authorization !== undefined && { authorization }) },
    allowed: Allowed.of('http', config),
    redirects_max: redirects,
    bytes_max,
    timeout_ms,
    signal
  })
}
