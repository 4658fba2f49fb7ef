import { SkilletError, type Gateway } from '../../../kernel/index.ts'
import type { RequestGuard } from '../access/request-guard.ts'
import type { Replies } from '../api/replies.ts'
import type { RequestContext } from '../api/request-context.ts'
import type { Target } from '../api/target.ts'
import { headerOf, type Close } from '../engine/server.ts'
import type { OpenStreams } from './open-streams.ts'
import { eventStream } from './server-sent-events.ts'

/** The route of the events of one execution. */
export const eventsPath = '/api/executions/{id}/events'

/**
 * Answers with the events of an execution, from its beginning or behind the event that the client had last.
 * @param afterReply what happens to the connection after the reply
 */
export function executionEvents (
  { gateway, guard, streams }: { gateway: Gateway, guard: RequestGuard, streams: OpenStreams },
  replies: Replies,
  afterReply: (context: RequestContext) => Close
): Target {
  return {
    writes: true, // no page of a foreign origin may hold connections open
    access: 'key',
    async run (context, values) {
      const { exchange, admission: { access } } = context
      if (exchange.method !== 'GET') {
        throw new SkilletError('METHOD_NOT_ALLOWED', `${eventsPath} takes GET, not ${exchange.method}`)
      }
      const id = decode(values[0] ?? '')
      const after = lastEventId(context)
      const { caller } = guard.meter(exchange)
      const gone = exchange.signal
      const live = gateway.live({ access })
      const stream = streams.open(caller, access, gone)
      try {
        const reader = await live.follow(id, after, stream.signal)
        // EventSource connects again after the end, unless the answer is 204.
        if (after?.endsWith('.end') === true) {
          stream.close()
          return replies.empty(context, 204, [], afterReply(context))
        }
        replies.events(context, eventStream(reader, () => { stream.close() }), afterReply(context))
      } catch (error) {
        stream.close()
        throw error
      }
    }
  }
}

/** The id in the header, or in the query for clients that can't send it. */
function lastEventId ({ exchange: { headers, query } }: RequestContext): string | undefined {
  const names = new URLSearchParams(query)
  for (const name of names.keys()) {
    if (name !== 'after') {
      const message = `query has an unknown name "${name.slice(0, 64)}"; it may hold "after"`
      throw new SkilletError('INVALID_PARAMETERS', message)
    }
  }
  const after = headerOf(headers, 'last-event-id') ?? names.get('after') ?? undefined
  return after === '' ? undefined : after
}

function decode (segment: string): string {
  try {
    return decodeURIComponent(segment).slice(0, 257)
  } catch {
    throw new SkilletError('INVALID_PARAMETERS', 'path value "id" has bad percent-encoding')
  }
}
