import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

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
export function plain (text: string): Address {
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
