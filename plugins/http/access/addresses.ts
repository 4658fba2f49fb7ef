import ipaddr from 'ipaddr.js'
import { headerOf, type HeaderBlock } from '../engine/server.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/**
 * The number of addresses in X-Forwarded-For that are read. The address after that many trusted proxies is not looked
 * for.
 */
const hopsMax = 32

/** Finds the address by which the requests of a caller are counted. */
export class Addresses {
  readonly #trusted: readonly Range[]

  /**
   * @param trusted addresses and CIDR ranges of proxies
   * @throws Error naming an entry that is neither an address nor a range
   */
  constructor (trusted: readonly string[]) {
    this.#trusted = trusted.map(text => {
      try {
        if (text.includes('/')) return ipaddr.parseCIDR(text)
        const address = ipaddr.process(text)
        return [address, address.kind() === 'ipv4' ? 32 : 128]
      } catch (error) {
        throw new Error(`server.trusted_proxies: "${text}" is neither an address nor a range such as 10.0.0.0/8`, {
          cause: error
        })
      }
    })
  }

  /**
   * The address of the caller. An IPv4 address stays as it is, also when it is mapped into IPv6. An IPv6 address is
   * replaced by its /64, which is the range that one subscriber has. Behind trusted proxies, the address is the last
   * one that the proxies did not add themselves: the client could write anything before it.
   */
  callerOf (peer_text: string, headers: HeaderBlock): string {
    if (this.#trusted.length === 0 && isDotted(peer_text)) return peer_text
    const peer = parse(peer_text)
    if (peer === undefined) return peer_text
    return group(this.#isTrusted(peer) ? this.#forwarded(headers) ?? peer : peer)
  }

  /** Undefined when an entry that matters is not an address: then only the address of the peer is known. */
  #forwarded (headers: HeaderBlock): Address | undefined {
    if (headerOf(headers, 'x-forwarded-for') === undefined) return undefined
    let all = ''
    for (let i = 0; i < headers.length; i += 2) if (headers[i] === 'x-forwarded-for') all += `,${headers[i + 1]}`
    const hops = all.slice(1).split(',')
    let address: Address | undefined
    for (let i = hops.length - 1; i >= Math.max(hops.length - hopsMax, 0); i--) {
      address = parse(withoutPort((hops[i] ?? '').trim()))
      if (address === undefined || !this.#isTrusted(address)) return address
    }
    return address
  }

  #isTrusted (address: Address): boolean {
    return this.#trusted.some(([base, bits]) =>
      base.kind() === address.kind() && address.match([base, bits] as [ipaddr.IPv4 & ipaddr.IPv6, number]))
  }
}

function isDotted (text: string): boolean {
  return /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(text)
}

/**
 * Reads IPv4 in four decimal parts, or IPv6. The library also knows shorter forms of IPv4, but other programs read
 * those differently.
 */
function parse (text: string): Address | undefined {
  if (!text.includes(':') && !isDotted(text)) return undefined
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined
}

function withoutPort (text: string): string {
  return /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(text)?.[1] ?? text
}

function group (address: Address): string {
  if (address.kind() === 'ipv4') return address.toString()
  return `${(address as ipaddr.IPv6).parts.slice(0, 4).map(part => part.toString(16)).join(':')}::/64`
}
