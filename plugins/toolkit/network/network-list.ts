import { isIP, isIPv6 } from 'node:net'
import { canonicalAddress, canonicalHost, splitPort, type Destination } from './destination.ts'

/** The ports of an entry that names none: those of HTTP and HTTPS. */
const usualPorts: readonly number[] = [80, 443]
const examples = '"api.example.org:443", "*.example.org" or "10.1.2.3:8080"'

interface Entry {
  /** As `canonicalHost` writes it. */
  readonly host: string
  /** Whether the entry means the names below this host instead of the host. */
  readonly below: boolean
  readonly ports: readonly number[]
}

/** The places that a skill may reach: its `permissions.network`, when that is a list. */
export class NetworkList {
  /** The list as its author wrote it, for messages. */
  readonly text: string
  readonly #entries: readonly Entry[]

  /** @throws Error naming the first entry that can't be read, with what is wrong and what is right */
  constructor (entries: readonly string[]) {
    this.text = entries.join(', ')
    this.#entries = entries.map(readEntry)
  }

  /** Whether a destination is in the list. What a name resolves to must be checked too. */
  names ({ host, port }: Destination): boolean {
    return this.#entries.some(entry =>
      entry.ports.includes(port) && (entry.below ? host.endsWith(`.${entry.host}`) : host === entry.host))
  }

  /** Whether an address may be connected to although it is special: it is in the list itself, or by `localhost`. */
  namesAddress (address: string, { host, port }: Destination): boolean {
    const canonical = canonicalAddress(address)
    if (canonical === undefined) return false
    const isLoopback = canonical === '::1' || (isIP(canonical) === 4 && canonical.startsWith('127.'))
    return this.names({ host: canonical, port }) || (host === 'localhost' && isLoopback && this.names({ host, port }))
  }
}

function readEntry (text: string): Entry {
  const below = text.startsWith('*.')
  const { host: written, port } = splitPort(below ? text.slice(2) : text)
  const fault = commonFault(text)
  if (fault !== undefined) throw wrong(text, fault)
  if (Number.isNaN(port)) throw wrong(text, 'needs a port from 1 to 65535 behind the colon')
  const host = canonicalHost(written)
  if (host === undefined) throw wrong(text, `is no host with or without a port, such as ${examples}`)
  if (isIP(host) === 4 && written !== host) throw wrong(text, `is the address ${host}: write it in this form`)
  if (below && isIP(host) !== 0) throw wrong(text, 'is an address, which has no subdomains')
  return { host, below, ports: port === undefined ? usualPorts : [port] }
}

/** What is wrong with an entry that was meant as something else. */
function commonFault (text: string): string | undefined {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return `is a URL; name a host, such as ${examples}`
  if (text.includes('/')) return `has a path or is a range; name a host, such as ${examples}`
  if (text.includes('@')) return `has the name of a user; name a host, such as ${examples}`
  if (/^\*(:\d+)?$/.test(text)) return 'means every host; for that, write network = true'
  if (text.indexOf('*', 1) > 0 || (text.startsWith('*') && !text.startsWith('*.'))) {
    return 'may have * as its first label only, for all subdomains, such as "*.example.org"'
  }
  if (isIPv6(text)) return `needs brackets, as every address of IPv6: "[${text}]" or "[${text}]:443"`
  return undefined
}

function wrong (text: string, why: string): Error {
  return new Error(`${JSON.stringify(text)} ${why}`)
}
