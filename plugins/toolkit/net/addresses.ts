import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { plain, whySpecial, type Address } from './special-addresses.ts'

/** The most entries of `allow`. */
const entriesMax = 1000

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
