import { isObject, type JsonObject } from '../../../kernel/index.ts'
import { listAt, objectAt, own, textAt } from './values.ts'

/**
 * The addresses of a document's servers, absolute and without a query, with the default values of their variables.
 * @param base the document's own address, for relative ones; undefined where it has none that requests can be sent to
 */
export function serversOf (holder: JsonObject, base: string | undefined): string[] {
  const listed = listAt(holder, 'servers').filter(isObject)
  return (listed.length === 0 ? [{ url: '/' }] : listed).flatMap(server => {
    const variables = objectAt(server, 'variables')
    const url = (textAt(server, 'url') ?? '').replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => {
      const value = own(objectAt(variables, name), 'default')
      return typeof value === 'string' || typeof value === 'number' ? String(value) : whole
    })
    const address = serverOf(url, base)
    return address === undefined ? [] : [address]
  })
}

/** An address that requests can be sent to, without a slash at its end; undefined for anything else. */
export function serverOf (text: string, base?: string): string | undefined {
  if (/[{}]/.test(text) || !URL.canParse(text, base)) return undefined
  const url = new URL(text, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  if (url.username !== '' || url.password !== '') return undefined
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

/**
 * The server of an operation that has its own: the first of them on the same host.
 * @throws Error when all are elsewhere
 */
export function serverFor (
  { item, value }: { item: JsonObject, value: JsonObject }, server: string
): string {
  const holder = [value, item].find(holder => listAt(holder, 'servers').length > 0)
  if (holder === undefined) return server
  const { origin } = new URL(server)
  const own = serversOf(holder, `${server}/`)
  const same = own.find(address => new URL(address).origin === origin)
  if (same !== undefined) return same
  throw new Error(`it is on another server (${own[0] ?? 'without an address'}) than the one that was confirmed`)
}
