import {
  coerceText, decodeJson, didYouMean, isObject, SkilletError, type JsonObject, type Operation
} from '../../../kernel/index.ts'

/** Where the fields of an operation's input are in its request. This is derived from the route and the schema. */
export interface Placement {
  method: 'GET' | 'POST'
  path: string
  /** Fields in the path, in order, with their schemas. */
  path_fields: readonly (readonly [name: string, schema: unknown])[]
  /** Fields in the query, with their schemas: for GET, all that are not in the path. */
  query_fields: ReadonlyMap<string, unknown>
  /** Names of the fields in the body: for POST, all that are not in the path. */
  body_fields: readonly string[]
}

export function placementOf ({ route, input }: Pick<Operation, 'route' | 'input'>): Placement {
  const [method, path] = route.startsWith('GET ') ? ['GET' as const, route.slice(4)] : ['POST' as const, route.slice(5)]
  const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name)
  const rest = Object.entries(input.properties).filter(([name]) => !inPath.includes(name))
  return {
    method,
    path,
    path_fields: inPath.map(name => {
      const schema = input.properties[name]
      if (schema === undefined) throw new Error(`${route} has a placeholder "${name}" that its input lacks`)
      return [name, schema] as const
    }),
    query_fields: new Map(method === 'GET' ? rest : []),
    body_fields: method === 'POST' ? rest.map(([name]) => name) : []
  }
}

/**
 * The input of an operation from path and query. The gateway checks it against the schema later.
 * @throws SkilletError INVALID_PARAMETERS for bad percent-encoding, and for unknown or repeated names
 */
export function readUrl (
  { path_fields, query_fields }: Placement,
  values: readonly string[],
  query: string
): JsonObject {
  const input: JsonObject = {}
  path_fields.forEach(([name, schema], i) => {
    input[name] = coerceText(schema, decode(values[i] ?? '', `path value "${name}"`))
  })
  if (query !== '') readQuery(query_fields, query, input)
  return input
}

function readQuery (fields: Placement['query_fields'], query: string, input: JsonObject): void {
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const mark = pair.indexOf('=')
    const name = decode((mark === -1 ? pair : pair.slice(0, mark)).replaceAll('+', ' '), 'a query name')
    const schema = fields.get(name)
    if (schema === undefined) {
      throw invalid(`query has an unknown name "${shorten(name)}"${didYouMean(name, fields.keys())}`)
    }
    if (Object.hasOwn(input, name)) throw invalid(`query has "${name}" twice`)
    input[name] =
      coerceText(schema, mark === -1 ? '' : decode(pair.slice(mark + 1).replaceAll('+', ' '), `query value "${name}"`))
  }
}

/**
 * The input of an operation from its body and path.
 * @throws SkilletError INVALID_PARAMETERS for a body that is not a JSON object
 */
export function readBody ({ path_fields }: Placement, bytes: Uint8Array, url: JsonObject): JsonObject {
  const body = decodeJson(bytes)
  if (!isObject(body)) throw invalid(`body must be a JSON object, not ${kindOf(body)}`)
  for (const [name] of path_fields) {
    if (Object.hasOwn(body, name)) throw invalid(`body has an unknown field "${name}"; it stands in the path`)
    body[name] = url[name]
  }
  return body
}

const mediaType = /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?;?[ \t]*$/i

/** @throws SkilletError UNSUPPORTED_MEDIA_TYPE unless a body is declared as plain JSON */
export function checkMediaType (type: string | undefined, encoding: string | undefined): void {
  if (type !== 'application/json' && (type === undefined || !mediaType.test(type))) {
    throw new SkilletError(
      'UNSUPPORTED_MEDIA_TYPE',
      `the body must be sent as "Content-Type: application/json"${type === undefined ? '' : `, not "${shorten(type)}"`}`
    )
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new SkilletError('UNSUPPORTED_MEDIA_TYPE', 'the body must be sent without Content-Encoding')
  }
}

function decode (text: string, subject: string): string {
  if (/[^\x20-\x7e]/.test(text)) throw invalid(`${subject} has characters that must be percent-encoded`)
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(`${subject} has bad percent-encoding`)
  }
}

function kindOf (value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return `a ${typeof value}`
}

function shorten (text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}
