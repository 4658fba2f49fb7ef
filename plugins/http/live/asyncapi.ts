import type { TObject } from 'typebox'
import { LIVE_EVENTS, type JsonObject, type Version } from '../../../kernel/index.ts'
import { Components } from '../api/openapi.ts'
import { eventsPath } from './execution-events.ts'
import { CLIENT_FRAMES, SERVER_FRAMES } from './frames.ts'
import { streamPath } from './stream-target.ts'

/** The AsyncAPI 3 description of the streams of events, derived from the shapes of their messages. */
export function asyncApi (version: Version, auth_required: boolean): JsonObject {
  const components = new Components()
  const messages: JsonObject = {}
  const add = (shapes: Readonly<Record<string, TObject>>): JsonObject => {
    const references: JsonObject = {}
    for (const [name, shape] of Object.entries(shapes)) {
      const { description = '' } = shape as { description?: string }
      messages[name] = { name, summary: description, contentType: 'application/json', payload: components.lift(shape) }
      references[name] = { $ref: `#/components/messages/${name}` }
    }
    return references
  }
  const events = add(LIVE_EVENTS)
  const sent = add(CLIENT_FRAMES)
  const received = add(SERVER_FRAMES)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Skillet', version: version.version,
      description: 'The events of executions while they last. All other calls are in /api/openapi.json.'
    },
    defaultContentType: 'application/json',
    channels: channelsOf(events, { ...sent, ...received }),
    operations: {
      receiveEvents: operation('receive', 'events', Object.keys(events), 'Follow an execution'),
      subscribe: operation('send', 'stream', Object.keys(sent), 'Begin and end subscriptions'),
      receive: operation('receive', 'stream', Object.keys(received), 'Receive events of subscriptions')
    },
    components: {
      schemas: components.schemas,
      messages,
      securitySchemes: {
        bearer: {
          type: 'http', scheme: 'bearer', description: `The API key${auth_required ? '' : ', where one is used'}`
        }
      }
    }
  }
}

function channelsOf (events: JsonObject, frames: JsonObject): JsonObject {
  return {
    events: {
      address: eventsPath, title: 'Events of an execution', messages: events,
      description: 'GET with server-sent events: each has its type as `event`, its `id`, and itself as `data`. Last-Event-ID, or `after` in the query, goes on behind an event. After `end` the answer to a new request is 204.',
      parameters: { id: { description: 'The execution' } }
    },
    stream: {
      address: streamPath, title: 'Subscriptions', messages: frames,
      description: 'A WebSocket, whose messages are JSON texts', bindings: { ws: { method: 'GET' } }
    }
  }
}

/** An operation of a client: it sends messages to a channel, or receives them. */
function operation (
  action: 'send' | 'receive', channel: string, names: readonly string[], summary: string
): JsonObject {
  return {
    action, summary, channel: { $ref: `#/channels/${channel}` },
    messages: names.map(name => ({ $ref: `#/channels/${channel}/messages/${name}` })),
    security: [{ $ref: '#/components/securitySchemes/bearer' }]
  }
}
