import type { Socket } from 'node:net'

/** Passes bytes both ways, each side as fast as the other one takes them, until both have ended. */
export function joinSockets (client: Socket, server: Socket, idle_ms: number): void {
  for (const [from, to] of [[client, server], [server, client]] as const) {
    from.on('error', () => { to.destroy() })
    from.once('close', () => { if (!to.writableEnded) to.destroy() })
    from.setTimeout(idle_ms, () => {
      from.destroy()
      to.destroy()
    })
    from.pipe(to)
  }
}
