import { SkilletError, waitMax_s, type JsonObject } from '../../../kernel/index.ts'
import { headerOf, type HeaderBlock } from '../engine/server.ts'

/** The header fields that say how a tool is run, and the fields of the input for which they stand. */
export const runHeaders = [
  {
    name: 'Prefer', example: 'respond-async, wait=5',
    description: '`respond-async` (RFC 7240) answers 202 at once and runs the tool later; with `wait=N` the answer waits N seconds for the end'
  },
  {
    name: 'Idempotency-Key', example: '"5b8d2c1e-9d4f-4c3b-a0a7-2f1f0f6f9d11"',
    description: 'The same key with the same request gives the first result again, without a second run'
  }
] as const

/**
 * Describes the response that comes before the end of an asynchronous execution.
 * @param name the name of the schema of the response
 * @param example the response of an execution that has ended
 */
export function acceptedResponse (name: string, example: JsonObject): JsonObject {
  const header = (description: string): JsonObject => ({ description, schema: { type: 'string' } })
  return {
    description: 'Accepted: an asynchronous execution that has not ended. Its record is at the address in `Location`',
    headers: {
      Location: header('The path of the record of the execution'),
      'Preference-Applied': header('`respond-async`, where the header `Prefer` asked for it')
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${name}` },
        example: { ...example, status: 'queued', output: '', duration_ms: 0 }
      }
    }
  }
}

/** Headers longer than this are not read, in characters. */
const preferMax = 1_000

/**
 * Puts what the headers of a request ask into the input of an operation that runs a tool. A field of the body counts
 * more than a preference.
 * @throws SkilletError CONFLICT when header and body have different keys
 */
export function readPreferences (headers: HeaderBlock, input: JsonObject): void {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]
    if (name === 'prefer') readPrefer(headers[i + 1] ?? '', input)
    else if (name === 'idempotency-key') readKey(headers[i + 1] ?? '', input)
  }
}

/** Whether a request prefers an asynchronous answer. */
export function prefersAsync (headers: HeaderBlock): boolean {
  return preferencesIn(headerOf(headers, 'prefer') ?? '').has('respond-async')
}

function readPrefer (value: string, input: JsonObject): void {
  const preferences = preferencesIn(value)
  if (!preferences.has('respond-async')) return
  input['asynchronous'] ??= true
  const wait = Number(preferences.get('wait') ?? Number.NaN)
  // A preference that can't be met is ignored (RFC 7240, section 2).
  if (input['asynchronous'] === true && Number.isSafeInteger(wait) && wait >= 0) {
    input['wait'] ??= Math.min(wait, waitMax_s)
  }
}

/** The preferences of a header, by name in lower case; of those with the same name, the first counts. */
function preferencesIn (value: string): Map<string, string> {
  const preferences = new Map<string, string>()
  if (value.length > preferMax) return preferences
  for (const part of value.split(',')) {
    const [, name = '', given = ''] = /^\s*([A-Za-z0-9-]+)\s*(?:=\s*"?([^";]*)"?)?\s*(?:;.*)?$/.exec(part) ?? []
    if (name !== '' && !preferences.has(name.toLowerCase())) preferences.set(name.toLowerCase(), given)
  }
  return preferences
}

/** The key as a text in quotes, which the draft of the header asks for, or as it is, which many clients send. */
function readKey (value: string, input: JsonObject): void {
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value) ?? []
  const key = quoted === undefined ? value : quoted.replaceAll(/\\(.)/g, '$1')
  if (input['idempotency_key'] !== undefined && input['idempotency_key'] !== key) {
    throw new SkilletError('CONFLICT', 'The header Idempotency-Key and the field idempotency_key differ; send one of them')
  }
  input['idempotency_key'] = key
}
