import type { JsonObject } from '../../kernel/index.ts'
import type { Target, TargetParameter } from '../toolkit/openapi/target.ts'
import { inHeader, inPath, pairsOf, queryOf } from './serialize.ts'

/** A request without its body and credentials. */
export interface Head { url: URL, headers: Record<string, string> }

/**
 * Puts parameters into a request.
 * @throws Error naming the parameter that can't stand where it belongs
 */
export function buildHead (target: Target, parameters: JsonObject): Head {
  const given = target.parameters.flatMap(parameter => {
    const value = Object.hasOwn(parameters, parameter.input) ? parameters[parameter.input] : undefined
    return value === undefined || value === null ? [] : [{ value, how: parameter }]
  })
  const place = (name: TargetParameter['in']): typeof given => given.filter(({ how }) => how.in === name)
  const query = queryOf(place('query'))
  const url = new URL(`${target.server}${pathOf(target.path, place('path'))}${query === '' ? '' : `?${query}`}`)
  refuseOtherPlace(url, target)
  const headers: Record<string, string> = { accept: target.accept }
  for (const { value, how } of place('header')) headers[nameOf(how.name)] = valueOf(inHeader(value, how), how.input)
  const cookies = place('cookie').flatMap(({ value, how }) => pairsOf(value, how).map(({ name, parts, between }) =>
    `${encodeURIComponent(name)}=${encodeURIComponent(parts.join(between))}`))
  if (cookies.length > 0) headers['cookie'] = cookies.join('; ')
  return { url, headers }
}

type Given = readonly { value: unknown, how: TargetParameter }[]

function pathOf (template: string, given: Given): string {
  const path = template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = given.find(({ how }) => how.name === name)
    if (found === undefined) throw new Error(`the parameter for {${name}} in the path is missing`)
    const text = inPath(found.value, found.how)
    if (text === '') throw new Error(`the parameter "${found.how.input}" is empty, and stands in the path`)
    return text
  })
  // A URL would leave these out, and the request would go to another place.
  if (path.split('/').some(part => /^(\.|%2e){1,2}$/i.test(part))) {
    throw new Error('a parameter makes a part of the path "." or "..", which would lead elsewhere')
  }
  return path.replaceAll(/[?#]/g, encodeURIComponent)
}

/** @throws Error when a request would leave the server; what is above should never let that happen */
function refuseOtherPlace (url: URL, { server }: Target): void {
  const base = new URL(server)
  const folder = base.pathname.replace(/\/*$/, '/')
  if (url.origin !== base.origin || !`${url.pathname}/`.startsWith(folder) || url.username !== '' || url.hash !== '') {
    throw new Error(`the parameters lead to ${url.host}${url.pathname}, outside of ${server}`)
  }
}

/** Headers that say how a message travels, or for whom. */
const own = new Set([
  'host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'te', 'trailer', 'upgrade', 'expect',
  'keep-alive', 'cookie'
])

/** @throws Error when it can't be the name of a header */
export function nameOf (name: string): string {
  const lower = name.toLowerCase()
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/.test(lower)) throw new Error(`"${name}" can't be the name of a header`)
  if (own.has(lower) || lower.startsWith('proxy-')) throw new Error(`the header "${name}" can't be set`)
  return lower
}

/** @throws Error when a text can't be the value of a header, such as one with a line break */
export function valueOf (text: string, input: string): string {
  if (!/^[\t\x20-\x7e]*$/.test(text)) {
    throw new Error(`the value of "${input}" has characters that a header can't have`)
  }
  return text
}
