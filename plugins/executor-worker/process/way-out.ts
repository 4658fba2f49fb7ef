import http from 'node:http'
import https from 'node:https'
import { createConnection, isIP, isIPv6, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as startTls, type ConnectionOptions } from 'node:tls'

/** Where the proxy listens, and what it wants to hear. */
interface Proxy { port: number, authorization: string }

/** What a connection is wanted for: of Node's agents, and of the agents behind `fetch`. */
interface Wanted extends ConnectionOptions {
  hostname?: string
  protocol?: string
  socketPath?: string
}

type Give = (error: Error | null, socket?: Duplex) => void

/** Kept of the proxy's reason, in characters. */
const reasonMax = 1_000

/**
 * Lets `fetch`, `node:http` and `node:https` reach the network through the proxy of `permissions.network`, as all their
 * connections have to: there is no other way out of the process. Older versions of Node know no proxies, and newer ones
 * leave out agents that a program made itself; so the ends at which both ask for a connection are replaced, which is
 * the same in every version. What opens sockets itself (`node:net`, `node:tls`) reaches nothing.
 * @param url of the proxy, with name and token
 */
export function openWayOut (url: string): void {
  const { port, username, password } = new URL(url)
  const name = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const proxy: Proxy = { port: Number(port), authorization: `Basic ${Buffer.from(name).toString('base64')}` }
  Object.assign(http.Agent.prototype, {
    createConnection (wanted: Wanted, give: Give) { tunnel(proxy, wanted, 80, give) }
  })
  Object.assign(https.Agent.prototype, {
    createConnection (wanted: Wanted, give: Give) { secureTunnel(proxy, wanted, give) }
  })
  replaceDispatchers((wanted, give) => {
    if (wanted.protocol === 'https:') secureTunnel(proxy, wanted, give)
    else tunnel(proxy, wanted, 80, give)
  })
}

/**
 * Node shows the agents behind `fetch` under symbols, which programs may replace, and does not show their class: it is
 * found by them.
 */
function replaceDispatchers (connect: (wanted: Wanted, give: Give) => void): void {
  void globalThis.Headers // the symbols appear when the first part of fetch is used
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (symbol.description?.startsWith('undici.globalDispatcher.') !== true) continue
    const dispatcher: unknown = Reflect.get(globalThis, symbol)
    if (!(dispatcher instanceof Object)) continue
    Reflect.set(globalThis, symbol, Reflect.construct(dispatcher.constructor, [{ connect }]))
  }
}

function secureTunnel (proxy: Proxy, wanted: Wanted, give: Give): void {
  const name = bare(hostOf(wanted))
  tunnel(proxy, wanted, 443, (error, socket) => {
    if (error !== null || socket === undefined) return give(error)
    const secure = startTls({ servername: isIP(name) === 0 ? name : '', ...onlyDefined(wanted), host: name, socket })
    const failed = (error: Error): void => { give(error) }
    secure.once('error', failed).once('secureConnect', () => {
      secure.off('error', failed)
      give(null, secure)
    })
  })
}

/** Opens a connection to another host through the proxy. */
function tunnel ({ port, authorization }: Proxy, wanted: Wanted, usualPort: number, give: Give): void {
  if (wanted.socketPath !== undefined) return give(refusal('sockets in folders can\'t be reached from the sandbox'))
  const host = hostOf(wanted)
  const place = `${isIPv6(bare(host)) ? `[${bare(host)}]` : host}:${wanted.port || usualPort}`
  http.request({
    method: 'CONNECT', path: place, headers: { Host: place, 'Proxy-Authorization': authorization },
    createConnection: () => createConnection({ host: '127.0.0.1', port })
  }).once('connect', (reply, socket, head) => {
    if (reply.statusCode === 200) return give(null, socket)
    refusalOf(socket, head).then(give, give)
  }).once('error', error => { give(error) }).on('error', () => {}).end()
}

/** The proxy says why it refused, as text. */
async function refusalOf (socket: Socket, head: Buffer): Promise<Error> {
  let text = head.toString()
  socket.setEncoding('utf8')
  for await (const part of socket) {
    text += String(part)
    if (text.length > reasonMax) break
  }
  return refusal(text.slice(0, reasonMax).trim())
}

function refusal (reason: string): Error {
  return Object.assign(new Error(reason), { code: 'EACCES' })
}

function hostOf ({ hostname, host = 'localhost' }: Wanted): string {
  return hostname ?? host
}

/** Without the brackets that an address of IPv6 has in URLs. */
function bare (host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host
}

function onlyDefined (wanted: Wanted): Wanted {
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined && value !== null))
}
