import { Agent, request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { messageOf } from '../../../kernel/index.ts'
import { destinationText, type Destination } from './destination.ts'
import type { ProxyLimits } from './limits.ts'
import type { Pass } from './pass.ts'
import { ProxyError } from './proxy-error.ts'

/** Headers for the next hop only, beside those that `Connection` names. */
const hopByHop = [
  'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
  'transfer-encoding', 'upgrade', 'expect', 'host'
]

export interface Forwarding {
  pass: Pass
  target: Destination & { path: string }
  limits: ProxyLimits
  connect (destination: Destination): Promise<Socket>
}

/** Sends a request for an `http:` URL on, and its reply back. @throws ProxyError when there is no reply */
export async function forward (
  incoming: IncomingMessage, reply: ServerResponse, { pass, target, limits, connect }: Forwarding
): Promise<void> {
  const agent = pass.agent ??= new CheckedAgent(connect, limits)
  const hasBody = incoming.headers['content-length'] !== undefined
    || incoming.headers['transfer-encoding'] !== undefined
  const send = (): ClientRequest => request({
    agent, host: target.host, port: target.port, path: target.path, method: incoming.method ?? 'GET', setHost: false,
    maxHeaderSize: limits.header_bytes_max,
    headers: {
      ...endToEnd(incoming), host: hostOf(target),
      ...(incoming.headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' })
    }
  })
  const response = await answer(send, incoming, reply, { hasBody, target })
  response.on('error', () => { reply.destroy() })
  response.once('aborted', () => { reply.destroy() })
  reply.once('close', () => { if (!response.readableEnded) response.destroy() })
  reply.writeHead(response.statusCode ?? 502, response.statusMessage, endToEnd(response))
  response.pipe(reply)
}

/** Sends a request, a second time where a connection had ended that was kept from an earlier one. */
async function answer (
  send: () => ClientRequest, incoming: IncomingMessage, reply: ServerResponse,
  { hasBody, target }: { hasBody: boolean, target: Destination }
): Promise<IncomingMessage> {
  for (;;) {
    const outgoing = send()
    const abandon = (): void => { outgoing.destroy() }
    reply.once('close', abandon)
    try {
      return await new Promise((resolve, reject) => {
        outgoing.once('response', response => {
          reply.off('close', abandon) // when all has come, the connection is for the next request
          resolve(response)
        }).on('error', reject)
        outgoing.once('timeout', () => { outgoing.destroy(new Error('it was idle for too long')) })
        outgoing.once('upgrade', (_response, socket) => { socket.destroy() })
        if (hasBody) incoming.pipe(outgoing)
        else outgoing.end()
      })
    } catch (error) {
      reply.off('close', abandon)
      if (error instanceof ProxyError) throw error
      const isSafe = !hasBody && (incoming.method === 'GET' || incoming.method === 'HEAD')
      if (outgoing.reusedSocket && isSafe && !reply.destroyed) continue
      throw new ProxyError(502, `${destinationText(target)} gave no reply: ${messageOf(error)}`, { cause: error })
    }
  }
}

/** Headers that are for the other end. */
function endToEnd ({ headersDistinct, headers: { connection = '' } }: IncomingMessage): Record<string, string[]> {
  const left = new Set([...hopByHop, ...connection.toLowerCase().split(',').map(name => name.trim())])
  const kept: Record<string, string[]> = {}
  for (const [name, values] of Object.entries(headersDistinct)) {
    if (values !== undefined && !left.has(name)) kept[name] = values
  }
  return kept
}

/** The header Host of a request. */
function hostOf (target: Destination): string {
  return target.port === 80 ? destinationText(target).replace(/:80$/, '') : destinationText(target)
}

/** Keeps the connections of one run for its next requests. */
class CheckedAgent extends Agent {
  readonly #connect: (destination: Destination) => Promise<Socket>

  constructor (connect: (destination: Destination) => Promise<Socket>, { run_connections_max, idle_ms }: ProxyLimits) {
    super({ keepAlive: true, maxTotalSockets: run_connections_max, maxFreeSockets: 16, timeout: idle_ms })
    this.#connect = connect
  }

  override createConnection (
    { host, port }: { host?: string | null | undefined, port?: number | string | null | undefined },
    callback?: (error: Error | null, socket: Socket) => void
  ): undefined {
    void this.#answer({ host: host ?? '', port: Number(port) }, callback)
    return undefined
  }

  /** A failure has no socket, against the types of Node. */
  async #answer (
    destination: Destination, answer: ((error: Error | null, socket: Socket) => void) | undefined
  ): Promise<void> {
    const fail = answer as ((error: unknown) => void) | undefined
    let socket
    try {
      socket = await this.#connect(destination)
    } catch (error) {
      fail?.(error)
      return
    }
    answer?.(null, socket)
  }
}
