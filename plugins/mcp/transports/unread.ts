/**
 * The bytes of a stream that a client may leave unread before its connection is closed; one message may exceed this.
 */
export const unreadBytesMax = 16 * 1_048_576

/**
 * Makes a stream of events fail as soon as its client leaves too many bytes unread: the server then closes the
 * connection. The writer of the stream does not know how much its client has read. Other replies are not changed.
 * @param ended called once, when no more is read from the stream
 */
export function boundUnread (response: Response, ended: () => void = () => {}): Response {
  const { body, status, headers } = response
  if (body === null || headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    ended()
    return response
  }
  const reader = body.getReader()
  const bounded = new ReadableStream<Uint8Array>({
    start (controller) { void pass(reader, controller).finally(ended) },
    cancel: reason => reader.cancel(reason)
  }, new ByteLengthQueuingStrategy({ highWaterMark: unreadBytesMax }))
  return new Response(bounded, { status, headers })
}

/**
 * Copies the stream; never rejects. It reads without waiting for the client, so that all unread bytes are in one queue.
 */
async function pass (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      if ((controller.desiredSize ?? 0) <= 0) {
        throw new Error(`the client left more than ${unreadBytesMax} bytes unread`)
      }
      controller.enqueue(value)
    }
  } catch (error) {
    controller.error(error) // which does nothing where the client has left
    reader.cancel(error).catch(() => {})
  }
}
