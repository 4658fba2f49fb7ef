import { isIP } from 'node:net'

/** A place to connect to. `host` is written as `canonicalHost` writes it. */
export interface Destination { host: string, port: number }

/** The longest name of a host in DNS, in characters. */
const nameMax = 253
const portMax = 65_535

/**
 * The one way to write a host: names in lower case, as ASCII (punycode) and without a dot at the end; addresses in
 * their usual form, without brackets. All spellings of an address are read as browsers read them: `0x7f.1`,
 * `2130706433` and `[::ffff:127.0.0.1]` are `127.0.0.1`.
 * @param text a name, an address of IPv4, or an address of IPv6 in brackets
 * @returns undefined for what is no host
 */
export function canonicalHost (text: string): string | undefined {
  const isBracketed = /^\[[\da-f:.]+\]$/i.test(text)
  // These characters would end the host in a URL, or be removed from it.
  if (!isBracketed && (text.length > 4 * nameMax || /[\s\p{Cc}/\\@?#%:[\]<>^|]/u.test(text))) return undefined
  const url = `http://${text}/`
  if (!URL.canParse(url)) return undefined
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (isIP(host) !== 0) return unmapped(host)
  const isName = host.length <= nameMax && /^[a-z\d_-]{1,63}(\.[a-z\d_-]{1,63})*$/.test(host)
  return isName ? host : undefined
}

/** An address as `canonicalHost` writes it, also where it is not in brackets; undefined for what is no address. */
export function canonicalAddress (address: string): string | undefined {
  const family = isIP(address)
  return family === 0 ? undefined : canonicalHost(family === 6 ? `[${address}]` : address)
}

/** An address of IPv4 that is wrapped into one of IPv6 (`::ffff:a01:203`), as itself. */
function unmapped (address: string): string {
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  return [high, low].map(part => Number.parseInt(part, 16)).flatMap(part => [part >> 8, part & 255]).join('.')
}

/**
 * Reads `host:port`.
 * @param defaultPort the port where none is given; undefined when one must be given
 * @returns undefined for what is no host and port
 */
export function readDestination (text: string, defaultPort?: number): Destination | undefined {
  const { host: written, port = defaultPort } = splitPort(text)
  const host = canonicalHost(written)
  return host === undefined || port === undefined || Number.isNaN(port) ? undefined : { host, port }
}

/** Separates a host from its port; NaN is a port that can't be one. */
export function splitPort (text: string): { host: string, port: number | undefined } {
  const [, host, digits] = /^(\[[^\]]*\]|[^:]*):(.*)$/s.exec(text) ?? [undefined, text]
  if (digits === undefined) return { host: text, port: undefined }
  const isPort = /^[1-9]\d{0,4}$/.test(digits) && Number(digits) <= portMax
  return { host: host ?? text, port: isPort ? Number(digits) : Number.NaN }
}

/** A destination as text: `example.org:443` or `[::1]:80`. */
export function destinationText ({ host, port }: Destination): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
