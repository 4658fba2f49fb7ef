/**
 * What a client may leave unread of a stream before its connection is closed, in bytes; one message may come on top.
 */
export const unreadBytesMax = 16 * 1_048_576

/**
 * Lets a stream of events fail as soon as its client leaves too much unread: the server then closes the connection.
 * Whoever writes to the stream knows nothing of its reader. Other replies are left as they are.
 * @param ended called once, when nothing more is read from the stream
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

/** Never rejects. Reads ahead of who reads the other end, so that what is unread is counted in one place. */
async function pass (reader: ReadableStreamDefaultReader<Uint8Array>, controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      if ((controller.desiredSize ?? 0) <= 0) throw new Error(`the client left more than ${unreadBytesMax} bytes unread`)
      controller.enqueue(value)
    }
  } catch (error) {
    controller.error(error) // which does nothing where the client has left
    reader.cancel(error).catch(() => {})
  }
}
