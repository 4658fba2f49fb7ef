import type { ErrorCode, JsonObject } from '../../../kernel/index.ts'

/** The errors of a request for the events of an execution, beside those that any request can get. */
export const eventsErrors: readonly ErrorCode[] = ['EXECUTION_NOT_FOUND']

const example = { execution: '01980a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b', event: '7c8d9e0f1a2b.2.5.0.0.0' } as const

/** The description of the events in the OpenAPI document, which is no operation since its answer is a stream. */
export function eventsOperation (errorResponses: JsonObject): JsonObject {
  const after = { required: false, schema: { type: 'string' }, example: example.event }
  return {
    operationId: 'follow_execution',
    tags: ['Executions'],
    summary: 'Follow an execution',
    description: 'The events of an execution as server-sent events, from its beginning or behind the event that the client had last: its states, what its tool writes, logs and reports, and its end. `/api/asyncapi.json` describes each event.',
    parameters: [
      {
        name: 'id', in: 'path', required: true, description: 'Execution identifier',
        schema: { type: 'string', minLength: 1, maxLength: 256 }, example: example.execution
      },
      {
        name: 'after', in: 'query', ...after,
        description: 'The id of an event, for clients that can\'t send Last-Event-ID: the events go on behind it'
      },
      { name: 'Last-Event-ID', in: 'header', ...after, description: 'The id of an event: the events go on behind it' }
    ],
    responses: {
      200: {
        description: 'Events, each with its type as `event`, its `id`, and itself as JSON in `data`. The last one is `end`',
        content: {
          'text/event-stream': {
            example: `event: stdout\nid: ${example.event}\ndata: {"type":"stdout","text":"Hello"}\n\n`
          }
        }
      },
      204: { description: 'The client had the last event already' },
      ...errorResponses
    }
  }
}
