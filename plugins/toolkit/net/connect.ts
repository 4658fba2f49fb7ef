import { lookup, type LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Allowed } from './addresses.ts'

/**
 * Opens a connection to a URL's host, over TLS for https. Addresses are checked twice: each that a name resolves to,
 * before it is tried, and the one that the connection is really to, before anything is sent. Between the two nobody is
 * asked again, so a name that changes its address meanwhile gains nothing. The caller destroys it.
 * @throws Error when the host may not be reached, or can't be
 */
export async function open (url: URL, allowed: Allowed, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const named = allowed.host(host, port)
  const check = (address: string): void => { if (!named) allowed.check(address, host, port) }
  if (isIP(host) !== 0) check(host) // nothing is looked up for these
  const socket = connect({ host, port, lookup: checkedLookup(check), autoSelectFamily: true })
  try {
    await until(socket, 'connect', signal)
    check(socket.remoteAddress ?? '')
    if (url.protocol !== 'https:') return socket
    const secured = connectTls({
      socket, host, ...(isIP(host) === 0 && { servername: host }), rejectUnauthorized: true, ALPNProtocols: ['http/1.1']
    })
    secured.once('close', () => { socket.destroy() })
    await until(secured, 'secureConnect', signal)
    return secured
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function until (socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  try {
    await once(socket, event, { signal })
  } catch (error) {
    socket.on('error', () => {}).destroy() // what else it has to say concerns nobody
    signal.throwIfAborted()
    throw error
  }
}

/** All addresses of a name, or none: one that is refused may be what the others are there to cover. */
function checkedLookup (check: (address: string) => void): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => {
      if (error !== null) {
        callback(error, [])
        return
      }
      try {
        for (const { address } of addresses) check(address)
      } catch (refused) {
        callback(refused instanceof Error ? refused : new Error(String(refused)), [])
        return
      }
      const [first] = addresses
      if (options.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}
