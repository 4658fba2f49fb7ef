import type { ChildProcess } from 'node:child_process'

/** Serves the handle of a listening socket. @returns what ends that. Rejects when it can't be served */
export type TakeSocket = (handle: object) => Promise<() => void>

/** The port of the proxy on 127.0.0.1, in network namespaces where nothing else listens before. */
export const proxyPort = 3128

/**
 * Takes the listening socket that a program in C passes at its start (see proxy-listener.c), and tells the program
 * when it is served: the program does nothing else before.
 * @param child started with `ipc` as its standard input, or as the descriptor that the program is told of
 * @param failed called once when there is no such socket, or it can't be served: the program waits in vain
 * @returns ends what is served. To be called when the program has ended
 */
export function servePassedSocket (
  child: ChildProcess, takeSocket: TakeSocket, failed: (error: unknown) => void
): () => void {
  let over = false
  let stopServing: (() => void) | undefined
  const receive = async (handle: unknown): Promise<void> => {
    try {
      if (typeof handle !== 'object' || handle === null) throw new Error('the sandbox passed no socket')
      const stop = await takeSocket(handle)
      if (over) return stop()
      stopServing = stop
      child.send('serving', () => {})
    } catch (error) {
      failed(error)
    }
  }
  child.once('message', (_message, handle: unknown) => { void receive(handle) })
  child.channel?.unref()
  return () => {
    over = true
    stopServing?.()
  }
}
