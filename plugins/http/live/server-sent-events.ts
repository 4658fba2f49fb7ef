import type { LiveEvent, LiveReader } from '../../../kernel/index.ts'

/** How often a comment is sent on a quiet stream, in milliseconds, so that no proxy closes the stream as dead. */
const keepAlive_ms = 15_000
/** The characters after which a chunk is sent: with one event more, the memory of a client that does not read. */
const chunk_characters = 65_536

const encoder = new TextEncoder()
const keepAlive = encoder.encode(':\n\n')

/**
 * The body of a response of server-sent events. It takes events from the reader only when the client has read those
 * before, so that a slow client holds one batch of events.
 * @param close ends the reader, and is called when the stream has ended, however it ended
 */
export function eventStream (reader: LiveReader, close: () => void): ReadableStream<Uint8Array> {
  let waiting: readonly LiveEvent[] = []
  let sent = 0
  let timer: NodeJS.Timeout | undefined
  const end = (): void => {
    clearInterval(timer)
    close()
  }
  return new ReadableStream<Uint8Array>({
    start (controller) {
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(keepAlive)
      }, keepAlive_ms).unref()
    },
    async pull (controller) {
      if (sent >= waiting.length) {
        const { done, value } = await reader.next()
        if (done === true) {
          end()
          return controller.close()
        }
        waiting = value
        sent = 0
      }
      let text = ''
      while (sent < waiting.length && text.length < chunk_characters) {
        const event = waiting[sent++]
        if (event !== undefined) text += `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
      }
      controller.enqueue(encoder.encode(text))
    },
    cancel: end
  }, { highWaterMark: 1 })
}
