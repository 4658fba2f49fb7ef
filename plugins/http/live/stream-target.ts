import { SkilletError, type Gateway, type Logger } from '../../../kernel/index.ts'
import type { RequestGuard } from '../access/request-guard.ts'
import type { Target } from '../api/target.ts'
import type { OpenStreams } from './open-streams.ts'
import { StreamSession } from './stream-session.ts'

/** The route of the WebSocket. */
export const streamPath = '/api/stream'

/** Never aborts: the end of a WebSocket is told by its engine. */
const never = { aborted: false, addEventListener () {}, removeEventListener () {} }

interface Dependencies { gateway: Gateway, guard: RequestGuard, streams: OpenStreams, log: Logger }

/** Opens a WebSocket with subscriptions to the events of executions. */
export function streamTarget ({ gateway, guard, streams, log }: Dependencies): Target {
  return {
    writes: true, // no page of a foreign origin may read the events of others
    access: 'key',
    isWebSocket: true,
    run ({ exchange, admission: { access } }) {
      if (exchange.accept === undefined) {
        throw new SkilletError('INVALID_PARAMETERS', `${streamPath} is a WebSocket: ask for one as RFC 6455 says`)
      }
      const live = gateway.live({ access })
      const meter = guard.meter(exchange)
      const stream = streams.open(meter.caller, access, never)
      exchange.accept(connection => new StreamSession({ connection, live, meter, stream, log }))
    }
  }
}
