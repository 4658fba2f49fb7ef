import { Type, type Static, type TSchema } from 'typebox'
import {
  compileCheck, decodeJson, isObject, LIVE_EVENTS, SkilletError, type LiveEvent, type SkilletError as Fault
} from '../../../kernel/index.ts'

/** The messages on a WebSocket at `/api/stream`, as JSON texts. The AsyncAPI document is derived from them. */

const id = Type.String({
  minLength: 1, maxLength: 64, description: 'The name of the subscription, which the client chooses; unique on its connection'
})
const after = Type.Optional(Type.String({
  maxLength: 128, description: 'The `id` of the last event that the client has: the events go on behind it'
}))
const closed = { additionalProperties: false }

/** What a client sends, by its type. */
export const CLIENT_FRAMES = {
  subscribe: Type.Object({
    type: Type.Literal('subscribe'), id,
    execution_id: Type.Optional(Type.String({
      minLength: 1, maxLength: 256, description: 'Follow this execution, from its beginning where `after` is absent'
    })),
    skill_name: Type.Optional(Type.String({
      minLength: 1, maxLength: 256, description: 'Follow the executions of this skill from now on'
    })),
    all: Type.Optional(Type.Literal(true, { description: 'Follow all executions that the key may see, from now on' })),
    after
  }, {
    ...closed, title: 'Subscribe', description: 'Begins a subscription: with one of execution_id, skill_name and all'
  }),
  unsubscribe: Type.Object(
    { type: Type.Literal('unsubscribe'), id }, { ...closed, title: 'Unsubscribe', description: 'Ends a subscription' }
  )
} as const

/** What the server sends, by its type. */
export const SERVER_FRAMES = {
  subscribed: Type.Object(
    { type: Type.Literal('subscribed'), id }, { title: 'Subscribed', description: 'The subscription has begun' }
  ),
  event: Type.Object({
    type: Type.Literal('event'), id, event: Type.Union(Object.values(LIVE_EVENTS) as TSchema[])
  }, { title: 'Event', description: 'An event of a subscription' }),
  ended: Type.Object(
    { type: Type.Literal('ended'), id },
    { title: 'Ended', description: 'No event of the subscription follows: its execution has ended, or it was unsubscribed' }
  ),
  error: Type.Object({
    type: Type.Literal('error'), id: Type.Optional(id),
    error: Type.Object({
      code: Type.String(), message: Type.String(), details: Type.Unsafe<object>({ type: 'object' })
    })
  }, { title: 'Refused', description: 'A message was refused; `id` is that of the subscription, where it could be read' })
} as const

export type ClientFrame = Static<typeof CLIENT_FRAMES.subscribe> | Static<typeof CLIENT_FRAMES.unsubscribe>

const checks = new Map(Object.entries(CLIENT_FRAMES).map(([type, schema]) => [type, compileCheck(schema, 'message')]))

/** @throws SkilletError INVALID_PARAMETERS */
export function readFrame (text: string): ClientFrame {
  const frame = decodeJson(Buffer.from(text))
  if (!isObject(frame)) throw new SkilletError('INVALID_PARAMETERS', 'a message must be a JSON object')
  const check = typeof frame['type'] === 'string' ? checks.get(frame['type']) : undefined
  if (check === undefined) {
    throw new SkilletError('INVALID_PARAMETERS', 'the type of a message must be "subscribe" or "unsubscribe"')
  }
  const fault = check(frame)
  if (fault !== undefined) throw new SkilletError('INVALID_PARAMETERS', fault)
  return frame as ClientFrame // checked against its schema
}

/** The texts of events, which all subscribers of a feed share. */
const texts = new WeakMap<LiveEvent, string>()

export function eventText (id: string, event: LiveEvent): string {
  let text = texts.get(event)
  if (text === undefined) texts.set(event, text = JSON.stringify(event))
  return `{"type":"event","id":${JSON.stringify(id)},"event":${text}}`
}

export function errorText (id: string | undefined, error: Fault): string {
  return JSON.stringify({ type: 'error', ...(id !== undefined && { id }), error: error.envelope().error })
}
