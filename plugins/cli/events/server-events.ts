import { compileCheck, decodeJson, isObject, LIVE_EVENTS, type LiveEvent } from '../../../kernel/index.ts'

/** The longest event that is read, in characters. */
const event_characters_max = 4 * 1_048_576

const checks = new Map(Object.entries(LIVE_EVENTS).map(([type, schema]) => [type, compileCheck(schema, 'event')]))

/**
 * Reads the events of an execution from a server, behind the event `after`.
 * @param url the server's own, such as `http://127.0.0.1:3000`
 * @param key the API key; undefined where there is none
 * @throws Error when the server can't be reached, refuses, or ends the stream before the event `end`
 */
export async function * serverEvents (
  url: string, id: string, after: string | undefined, key: string | undefined, signal: AbortSignal
): AsyncGenerator<LiveEvent> {
  const response = await fetch(`${url}/api/executions/${encodeURIComponent(id)}/events`, {
    signal,
    headers: {
      ...(after !== undefined && { 'Last-Event-ID': after }),
      ...(key !== undefined && { Authorization: `Bearer ${key}` })
    }
  })
  if (response.status === 204) return
  if (!response.ok || response.body === null) {
    await response.body?.cancel()
    throw new Error(`the server answered with the status ${response.status}`)
  }
  for await (const text of blocksOf(response.body)) {
    const data = text.split('\n').flatMap(line => line.startsWith('data: ') ? line.slice(6) : []).join('\n')
    const event = data === '' ? undefined : eventOf(data)
    if (event === undefined) continue
    yield event
    if (event.type === 'end') return
  }
  throw new Error('the server ended the stream')
}

/** The blocks of an event stream, which an empty line divides. */
async function * blocksOf (body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    if (rest.length > event_characters_max) throw new Error('the server sent an event that is too long')
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    yield * blocks
  }
}

/** An event of a type that this program knows; others are left out, since a newer server may send them. */
function eventOf (data: string): LiveEvent | undefined {
  const event = decodeJson(Buffer.from(data))
  const check = isObject(event) ? checks.get(String(event['type'])) : undefined
  if (check === undefined) return undefined
  const fault = check(event)
  if (fault !== undefined) throw new Error(`the server sent an event that is not well-formed: ${fault}`)
  return event as LiveEvent // checked against its schema
}
