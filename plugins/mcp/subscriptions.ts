import { ProtocolError, ProtocolErrorCode, type McpServer } from '@modelcontextprotocol/server'

/** Addresses that one client may follow. */
const followedMax = 1_000

/** What clients of 2025 follow, each on its connection; those of 2026 have streams that the SDK keeps. */
export class Subscriptions {
  readonly #followed = new Set<string>()

  constructor ({ server }: McpServer) {
    server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
      if (this.#followed.size >= followedMax && !this.#followed.has(uri)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `A client may follow ${followedMax} resources`)
      this.#followed.add(uri)
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      this.#followed.delete(uri)
      return {}
    })
  }

  has (uri: string): boolean {
    return this.#followed.has(uri)
  }
}
