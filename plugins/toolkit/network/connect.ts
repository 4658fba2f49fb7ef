import { lookup } from 'node:dns/promises'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { messageOf, within } from '../../../kernel/index.ts'
import { whySpecial } from '../net/special-addresses.ts'
import { canonicalAddress, destinationText, type Destination } from './destination.ts'
import type { NetworkList } from './network-list.ts'
import { ProxyError } from './proxy-error.ts'

/** All addresses of a name. Rejects, or gives none, where there are none. */
export type Resolve = (host: string) => Promise<readonly string[]>

export const resolveBySystem: Resolve = async host => (await lookup(host, { all: true })).map(({ address }) => address)

export interface ConnectOptions {
  /** What the skill is called, for messages. */
  name: string
  list: NetworkList
  resolve: Resolve
  /** Time for the resolution and for the connection, in milliseconds each. */
  connect_ms: number
  /** Takes the socket as soon as there is one, so that it can be closed while it connects. Throws to refuse it. */
  hold (socket: Socket): void
}

/**
 * Connects to a destination in a skill's list. A name is resolved once. All its addresses are checked, and one of them
 * is connected to, so a name that changes its addresses meanwhile gains nothing.
 * @throws ProxyError 403 when the destination may not be reached; 502 or 504 when it can't be
 */
export async function connectTo (destination: Destination, options: ConnectOptions): Promise<Socket> {
  const { name, list, connect_ms, hold } = options
  const place = destinationText(destination)
  if (!list.names(destination)) {
    throw new ProxyError(403, `${name} may not reach ${place}: permissions.network lists ${list.text}`)
  }
  const addresses = await addressesOf(destination, options)
  for (const address of addresses) refuseSpecial(address, destination, options)
  const socket = connect({
    ...destination, lookup: fixedLookup(addresses), autoSelectFamily: true, noDelay: true, allowHalfOpen: true
  })
  try {
    hold(socket)
    await connected(socket, connect_ms)
    const peer = canonicalAddress(socket.remoteAddress ?? '')
    if (addresses.some(address => canonicalAddress(address) === peer)) return socket
    throw new Error('the connection is to another address than was checked')
  } catch (error) {
    socket.on('error', () => {}).destroy()
    if (error instanceof ProxyError) throw error
    throw new ProxyError(502, `${place} can't be reached: ${messageOf(error)}`, { cause: error })
  }
}

async function addressesOf ({ host, port }: Destination, { resolve, connect_ms }: ConnectOptions): Promise<string[]> {
  if (isIP(host) !== 0) return [host]
  const place = destinationText({ host, port })
  const found: string[] = []
  let isThere
  try {
    isThere = await within(connect_ms, resolve(host).then(addresses => found.push(...addresses)))
  } catch (error) {
    throw new ProxyError(502, `${place} can't be reached: ${messageOf(error)}`, { cause: error })
  }
  if (!isThere) throw new ProxyError(504, `${place} can't be reached: its name was not resolved in ${connect_ms} ms`)
  if (found.length === 0) throw new ProxyError(502, `${place} can't be reached: its name has no address`)
  return found
}

function refuseSpecial (address: string, destination: Destination, { name, list }: ConnectOptions): void {
  const why = whySpecial(address)
  if (why === undefined || list.namesAddress(address, destination)) return
  const { host } = destination
  const what = host === address ? why : `${address}, ${why}`
  throw new ProxyError(
    403,
    `${name} may not reach ${destinationText(destination)}: it is ${what}, which permissions.network does not list itself`
  )
}

/** Answers with the addresses that were checked, whoever asks. */
function fixedLookup (addresses: readonly string[]): LookupFunction {
  const found = addresses.map(address => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = found
    if (options.all === true) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }
}

function connected (socket: Socket, connect_ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new ProxyError(504, `there was no connection to ${socket.remoteAddress ?? 'it'} in ${connect_ms} ms`))
    }, connect_ms)
    const settle = (then: () => void) => (): void => {
      clearTimeout(timer)
      then()
    }
    socket.once('connect', settle(resolve))
    socket.once('error', error => { settle(() => { reject(error) })() })
    socket.once('close', settle(() => { reject(new Error('the connection was closed')) }))
  })
}
