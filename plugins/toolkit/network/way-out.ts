import type { NetworkList } from './network-list.ts'
import type { Pass } from './pass.ts'
import { proxyPort, type TakeSocket } from './passed-socket.ts'
import { stopServing, type NetworkProxy } from './proxy.ts'

let rooms = 0

/**
 * The way of one long-lived program, a script process or an MCP server, to what its skill lists. The program has a
 * network of its own, and a token for all of its runs, since they could tell each other's: they are runs of one skill
 * with one list.
 */
export class WayOut {
  readonly #pass: Pass
  /** Serves the socket that the process passes. */
  readonly takeSocket: TakeSocket

  /** @param refused told what it may not reach, once for each in a run */
  constructor (proxy: NetworkProxy, name: string, list: NetworkList, refused: (message: string) => void) {
    const room = `program ${++rooms}`
    this.#pass = proxy.admit({ room, name, list, refused })
    this.takeSocket = async handle => {
      const server = await proxy.serve(handle, room)
      return () => { stopServing(server) }
    }
  }

  get variables (): Record<string, string> {
    return this.#pass.variables(proxyPort)
  }

  /** A run begins: it is told what is refused, whatever runs before it were told. */
  begin (): void {
    this.#pass.tellAnew()
  }

  /** Ends all connections. To be called when the program has ended. */
  end (): void {
    this.#pass.end()
  }
}
