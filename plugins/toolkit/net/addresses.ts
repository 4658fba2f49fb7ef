import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The most entries of `allow`. */
const entriesMax = 1000

/** All addresses that are given to anybody lie in here; whatever else there is of IPv6 is special or not in use. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
/** Addresses of IPv4 as networks without it spell them (RFC 6052): their last 32 bits say where they lead. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/**
 * Why an address must not be connected to without leave: it belongs to this machine, to a private network, or to a
 * range that is no place on the internet. Undefined for an ordinary one.
 */
export function whySpecial (text: string): string | undefined {
  // A zone (`fe80::1%eth0`) is no part of the address.
  const [bare = ''] = text.split('%')
  if (isIP(bare) === 0) return 'no address'
  const address = plain(bare)
  const range = address.range()
  if (range !== 'unicast' || !isOrdinary(address)) return words[range] ?? `an address of a special range (${range})`
  if (isOwn(address)) return 'an address of this machine'
  return undefined
}

const words: Record<string, string> = {
  loopback: 'an address of this machine',
  unspecified: 'an address of this machine',
  private: 'an address of a private network',
  uniqueLocal: 'an address of a private network',
  deprecatedSiteLocal: 'an address of a private network',
  carrierGradeNat: 'an address of a private network',
  linkLocal: 'a link-local address'
}

/** The address that is really meant: one of IPv4 may be wrapped into one of IPv6, in two ways. */
function plain (text: string): Address {
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv6 && address.match(nat64)) return new ipaddr.IPv4(address.toByteArray().slice(12))
  return address
}

function isOrdinary (address: Address): boolean {
  return address instanceof ipaddr.IPv4 || address.match(globalUnicast)
}

/** A machine may have addresses that are as public as any. */
function isOwn (address: Address): boolean {
  const text = address.toString()
  return Object.values(networkInterfaces())
    .flat()
    .some(one => one !== undefined && plain(one.address.split('%')[0] ?? '').toString() === text)
}

type Entry = { host: string, port: number | undefined } | { range: [Address, number], port: number | undefined }

/** What may be reached although it is special, by a setting or because a person confirmed it. */
export class Allowed {
  readonly #entries: readonly Entry[]
  readonly #setting: string

  /** @param skill a skill that fetches, whose section of the configuration may have the setting `allow` */
  static of (skill: string, { allow }: Readonly<Record<string, unknown>>): Allowed {
    return new Allowed(`[skills.config.${skill}] allow`, allow)
  }

  /**
   * @param setting what lists the entries, for messages
   * @param allow a list of host names, addresses and ranges, each perhaps with a port
   * @throws Error naming the entry that can't be read
   */
  constructor (setting: string, allow: unknown = []) {
    this.#setting = setting
    if (!Array.isArray(allow) || allow.length > entriesMax) {
      throw new Error(`${this.#setting} must be a list of at most ${entriesMax} host names, addresses or ranges`)
    }
    this.#entries = allow.map(entry => this.#parse(entry))
  }

  /** Whether a host is named, so that it may be wherever it says. */
  host (name: string, port: number): boolean {
    return this.#entries.some(entry =>
      'host' in entry && entry.host === canonical(name) && (entry.port ?? port) === port)
  }

  /** @throws Error when an address is special and not allowed */
  check (address: string, host: string, port: number): void {
    const why = whySpecial(address)
    if (why === undefined || this.#names(address, port)) return
    const where = host === address ? address : `${host} (${address})`
    throw new Error(`${where} is ${why}; ${this.#setting} says which of these may be reached`)
  }

  #names (text: string, port: number): boolean {
    if (isIP(text) === 0) return false
    const spelled = ipaddr.parse(text)
    return [spelled, plain(text)].some(address => this.#entries.some(entry =>
      'range' in entry && (entry.port ?? port) === port && entry.range[0].kind() === address.kind()
      && address.match(entry.range)))
  }

  #parse (entry: unknown): Entry {
    const wrong = new Error(`${this.#setting}: ${JSON.stringify(entry)} is no host name, address or range, such as "intranet.example", "127.0.0.1:8080", "[::1]:8080" or "10.0.0.0/8"`)
    if (typeof entry !== 'string') throw wrong
    // A bare address of IPv6 has colons of its own; with a port it stands in brackets.
    const [, bracketed, simple, given] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(entry)
      ?? [undefined, entry]
    const target = bracketed ?? simple ?? entry
    const port = given === undefined ? undefined : Number(given)
    if (port !== undefined && (port < 1 || port > 65_535)) throw wrong
    const [address = '', bits] = target.split('/')
    const kind = isIP(address)
    if (kind !== 0) {
      const longest = kind === 4 ? 32 : 128
      if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= longest)) throw wrong
      return { range: [ipaddr.parse(address), Number(bits ?? longest)], port }
    }
    if (!/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$/.test(target) || /^[\d.]+$/.test(target)) throw wrong
    return { host: canonical(target), port }
  }
}

function canonical (host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}
