import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connectTo, resolveBySystem, type Resolve } from './connect.ts'
import type { Destination } from './destination.ts'
import { forward } from './forward.ts'
import { proxyLimits, type ProxyLimits } from './limits.ts'
import { Passes, type Pass, type PassOptions } from './pass.ts'
import { ProxyError, proxyErrorOf, refusalHeaders, sendRefusal } from './proxy-error.ts'
import { forwardTarget, tunnelTarget } from './request-target.ts'
import { joinSockets } from './tunnel.ts'

export interface NetworkProxyOptions {
  limits?: Partial<ProxyLimits>
  /** By default, as the system resolves names. */
  resolve?: Resolve
}

/**
 * The only way from confined commands to the network: a proxy for HTTP, with CONNECT for everything else. It serves
 * sockets that listen where the commands are. Each run has a token, and reaches what its skill's list names.
 */
export class NetworkProxy {
  readonly #limits: ProxyLimits
  readonly #resolve: Resolve
  readonly #passes: Passes
  readonly #servers = new Set<Server>()
  #connections = 0

  constructor ({ limits, resolve = resolveBySystem }: NetworkProxyOptions = {}) {
    this.#limits = { ...proxyLimits, ...limits }
    this.#resolve = resolve
    this.#passes = new Passes(this.#limits)
  }

  /** Lets a run use the proxy until its pass is ended. */
  admit (options: PassOptions): Pass {
    return this.#passes.add(options)
  }

  /**
   * Serves a socket.
   * @param listening what `server.listen` takes: the handle of a socket, or a port
   * @param room only passes of this room hold there
   * @returns the server, once it serves. Rejects when it can't
   */
  async serve (listening: object, room: string): Promise<Server> {
    const { header_bytes_max, header_ms, idle_ms, listener_connections_max } = this.#limits
    const server = createServer({
      maxHeaderSize: header_bytes_max, headersTimeout: header_ms, requestTimeout: 0, keepAliveTimeout: idle_ms,
      connectionsCheckingInterval: Math.min(1_000, header_ms), noDelay: true, insecureHTTPParser: false
    })
    server.maxConnections = listener_connections_max
    server.setTimeout(idle_ms)
    server.on('connection', (socket: Socket) => { this.#count(socket) })
    server.on('request', (request, reply) => { void this.#forward(request, reply, room) })
    server.on('connect', (request, socket: Duplex, head: Buffer) => {
      void this.#tunnel(request, socket as Socket, head, room) // this server has no other sockets
    })
    await once(server.listen(listening).unref(), 'listening')
    this.#servers.add(server.once('close', () => { this.#servers.delete(server) }))
    return server
  }

  /** Stops to serve, and ends all connections. */
  close (): void {
    this.#passes.end()
    for (const server of this.#servers) stopServing(server)
  }

  #count (socket: Socket): void {
    if (this.#connections >= this.#limits.connections_max) {
      socket.destroy()
      return
    }
    this.#connections++
    socket.once('close', () => { this.#connections-- })
  }

  async #forward (request: IncomingMessage, reply: ServerResponse, room: string): Promise<void> {
    let pass: Pass | undefined
    try {
      pass = this.#passOf(request, room)
      pass.holdClient(request.socket)
      await forward(request, reply, {
        pass, target: forwardTarget(request), limits: this.#limits, connect: this.#connector(pass)
      })
    } catch (thrown) {
      const error = tell(pass, thrown)
      if (reply.headersSent) reply.destroy()
      else reply.writeHead(error.status, refusalHeaders(error)).end(`${error.message}\n`)
    }
  }

  async #tunnel (request: IncomingMessage, socket: Socket, head: Buffer, room: string): Promise<void> {
    let pass: Pass | undefined
    const ignore = (): void => {}
    socket.on('error', ignore)
    try {
      pass = this.#passOf(request, room)
      pass.holdClient(socket)
      const server = await this.#connector(pass)(tunnelTarget(request))
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) server.write(head)
      joinSockets(socket, server, this.#limits.idle_ms)
      if (socket.destroyed) server.destroy()
    } catch (thrown) {
      sendRefusal(socket, tell(pass, thrown))
    }
  }

  /** @throws ProxyError 407 without the token of a run that has not ended */
  #passOf (request: IncomingMessage, room: string): Pass {
    const headers = request.headersDistinct['proxy-authorization'] ?? []
    const pass = headers.length === 1 ? this.#passes.of(headers[0], room) : undefined
    if (pass === undefined) {
      throw new ProxyError(407, 'the proxy needs the name and the token that HTTPS_PROXY and HTTP_PROXY have, of this run')
    }
    return pass
  }

  #connector (pass: Pass): (destination: Destination) => Promise<Socket> {
    const { name, list } = pass
    const { connect_ms } = this.#limits
    const hold = (socket: Socket): void => { pass.holdServer(socket) }
    return destination => connectTo(destination, { name, list, resolve: this.#resolve, connect_ms, hold })
  }
}

/** Tells the user what was refused. */
function tell (pass: Pass | undefined, thrown: unknown): ProxyError {
  const error = proxyErrorOf(thrown)
  if (error.status === 403 || error.status === 503) pass?.tell(error.message)
  return error
}

/** Ends a server and its connections that wait for a request; those of runs end with the runs. */
export function stopServing (server: Server): void {
  server.close()
  server.closeAllConnections()
}
