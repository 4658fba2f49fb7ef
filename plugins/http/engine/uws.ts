import { createServer } from 'node:net'
import { messageOf, type Logger } from '../../../kernel/index.ts'
import { Pending, type Engine, type ListenOptions, type Server } from './server.ts'
import {
  loadAddon, type ListenSocket, type Uws, type UwsContext, type UwsRequest, type UwsResponse
} from './uws-addon.ts'
import { UwsExchange } from './uws-exchange.ts'
import { webSocketBehavior } from './uws-web-socket.ts'

/**
 * Loads uWebSockets.js as an engine.
 * @throws Error where no package has a binary for this platform and Node
 */
export async function loadUws (): Promise<Engine> {
  const { package: from, uws } = await loadAddon()
  return { name: 'uWebSockets.js', package: from, listen: options => listen(uws, options) }
}

async function listen (uws: Uws, { host, port, handler, web_socket_paths, log }: ListenOptions): Promise<Server> {
  const pending = new Pending()
  const app = uws.App()
  const take = (method: string, response: UwsResponse, request: UwsRequest, context?: UwsContext): void => {
    // An error thrown from here would end the process.
    const exchange = new UwsExchange(method, response, request, pending, context)
    try {
      handler(exchange)
    } catch (error) {
      abandon(exchange, error, log)
    }
    exchange.handled()
  }
  for (const path of web_socket_paths) app.ws(path, webSocketBehavior((...args) => { take('GET', ...args) }))
  // The addon has already compared the two usual methods, case-sensitively; asking it for the method costs as much as
  // asking for the path.
  app.get('/*', (response, request) => { take('GET', response, request) })
  app.post('/*', (response, request) => { take('POST', response, request) })
  app.any('/*', (response, request) => { take(request.getCaseSensitiveMethod(), response, request) })
  // Without this option, a second server could share the port (SO_REUSEPORT).
  const options = uws.LIBUS_LISTEN_EXCLUSIVE_PORT
  const socket = await new Promise<ListenSocket | false>(resolve => { app.listen(host, port, options, resolve) })
  if (socket === false) {
    app.close()
    throw new Error(await whyNot(host, port))
  }
  let accepting = true
  return {
    port: uws.us_socket_local_port(socket),
    refuse () {
      if (accepting) uws.us_listen_socket_close(socket)
      accepting = false
    },
    idle: () => pending.idle(),
    close () {
      accepting = false
      app.close()
    }
  }
}

function abandon (exchange: UwsExchange, error: unknown, log: Logger): void {
  log.error({ error: messageOf(error) }, 'a request handler threw')
  exchange.destroy()
}

/**
 * Why the address can't be bound: uWebSockets.js does not report the reason, but `node:net` does for the same address.
 */
function whyNot (host: string, port: number): Promise<string> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', error => { resolve(messageOf(error)) })
    probe.listen(port, host, () => { probe.close(() => { resolve('the address could not be bound') }) })
  })
}
