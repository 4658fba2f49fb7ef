import { networkInterfaces } from 'node:os'

/**
 * The number of accepted Host headers that are cached, so that the next request of a browser needs one look-up. A
 * server has few names.
 */
const acceptedMax = 64
/**
 * How often the addresses of a wildcard are read again, in milliseconds: a machine can join a network while the server
 * runs.
 */
const addresses_ms = 1_000

/** Whether an address can only be reached from this machine. */
export function isLoopback (host: string): boolean {
  const name = hostName(urlHost(host))
  return name === 'localhost' || name === '[::1]' || (name !== undefined && /^127\.\d+\.\d+\.\d+$/.test(name))
}

/** Whether a server with this address listens on every address. */
export function isWildcard (host: string): boolean {
  const name = hostName(urlHost(host))
  return name === '0.0.0.0' || name === '[::]'
}

/** An address as it stands in a URL. */
export function urlHost (host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/**
 * Knows the Host headers that name this server, with any port (because of tunnels). This detects DNS rebinding, where a
 * web page lets its own host name resolve to this machine.
 */
export class OwnHosts {
  readonly #names: Set<string>
  readonly #wildcard: boolean
  readonly #accepted = new Set<string>()
  /**
   * The newest accepted header. It is compared first: most requests have the same header, and a comparison is cheaper
   * than a hash.
   */
  #last: string | undefined
  #addresses = new Set<string>()
  #read_ms = Number.NEGATIVE_INFINITY

  /** @throws Error naming an entry of `allowed` that is not a host name */
  constructor (host: string, allowed: readonly string[]) {
    this.#names = new Set(['localhost', '127.0.0.1', '[::1]'])
    this.#wildcard = isWildcard(host)
    for (const name of [urlHost(host), ...allowed.map(urlHost)]) {
      const canonical = hostName(name)
      if (canonical === undefined) {
        throw new Error(`"${name}" is not a host name; check server.host and server.allowed_hosts`)
      }
      this.#names.add(canonical)
    }
  }

  /** Whether the value of a Host header names this server. */
  has (header: string): boolean {
    if (header === this.#last) return true
    if (this.#accepted.has(header)) {
      this.#last = header
      return true
    }
    const name = hostName(header)
    if (name === undefined || !(this.#names.has(name) || (this.#wildcard && this.#isAddress(name)))) return false
    if (this.#accepted.size < acceptedMax) this.#accepted.add(header)
    return true
  }

  #isAddress (name: string): boolean {
    const now = performance.now()
    if (!this.#addresses.has(name) && now - this.#read_ms > addresses_ms) {
      this.#read_ms = now
      const interfaces = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
      this.#addresses = new Set(interfaces.map(({ address }) => hostName(urlHost(address)) ?? ''))
    }
    return this.#addresses.has(name)
  }
}

/** The name in a Host header, in canonical form and without its port; undefined when the header is not valid. */
function hostName (header: string): string | undefined {
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i.test(header)) return undefined
  try {
    return new URL(`http://${header}`).hostname
  } catch {
    return undefined
  }
}
