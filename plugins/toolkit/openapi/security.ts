import { isObject, type JsonObject } from '../../../kernel/index.ts'
import type { References } from './references.ts'
import type { TargetAuth } from './target.ts'
import { listAt, objectAt, textAt } from './values.ts'

/** Alternatives of which one is needed; each is a set of schemes. None is needed when there is no alternative. */
export function alternativesOf (document: JsonObject, operation: JsonObject): string[][] {
  const holder = Array.isArray(operation['security']) ? operation : document
  return listAt(holder, 'security').filter(isObject).map(alternative => Object.keys(alternative))
}

/** Which of the skill's credentials an operation is sent: those that it names. */
export function authFor (
  document: JsonObject, operation: JsonObject, auth: readonly TargetAuth[]
): TargetAuth[] {
  const alternatives = alternativesOf(document, operation)
  // A scheme that the document does not know was added by the user, for every operation.
  const schemes = objectAt(objectAt(document, 'components'), 'securitySchemes')
  const added = auth.filter(({ scheme }) => !Object.hasOwn(schemes, scheme))
  const known = alternatives.map(names => names.flatMap(name => auth.filter(({ scheme }) => scheme === name)))
    .find((found, i) => found.length === alternatives[i]?.length) ?? []
  return [...known, ...added]
}

/**
 * The credentials with which most operations can be called, of those that can be sent.
 * @param skill the name of the skill, for the names of its secrets
 */
export function chooseAuth (
  document: JsonObject, operations: readonly JsonObject[], references: References, skill: string
): TargetAuth[] {
  const uses = new Map<string, number>()
  for (const operation of operations) {
    for (const names of alternativesOf(document, operation)) {
      const key = JSON.stringify(names)
      if (names.length > 0) uses.set(key, (uses.get(key) ?? 0) + 1)
    }
  }
  const possible = [...uses].sort(([, a], [, b]) => b - a).flatMap(([key]) => {
    const auth = (JSON.parse(key) as string[]).map(name => authOf(document, name, references, skill))
    return auth.every(found => found !== undefined) ? [auth] : []
  })
  return possible[0] ?? []
}

/** How a scheme of the document is sent; undefined where it can't be. */
function authOf (
  document: JsonObject, scheme: string, references: References, skill: string
): TargetAuth | undefined {
  const schemes = objectAt(objectAt(document, 'components'), 'securitySchemes')
  const value = Object.hasOwn(schemes, scheme) ? references.follow(schemes[scheme]) : {}
  const place = value['in']
  const secret = (end: string): string => secretName(skill, end)
  switch (value['type']) {
    case 'apiKey': {
      const name = textAt(value, 'name')
      if (name === undefined || (place !== 'header' && place !== 'query' && place !== 'cookie')) return undefined
      return { scheme, kind: place, name, secrets: [secret(scheme)] }
    }
    case 'http': return httpAuth(scheme, (textAt(value, 'scheme') ?? '').toLowerCase(), secret)
    case 'oauth2': {
      const { tokenUrl: token_url, scopes } = objectAt(objectAt(value, 'flows'), 'clientCredentials')
      if (typeof token_url !== 'string') return { scheme, kind: 'bearer', secrets: [secret('access_token')] }
      return {
        scheme, kind: 'oauth2', secrets: [secret('client_id'), secret('client_secret')], token_url,
        ...(isObject(scopes) && Object.keys(scopes).length > 0 && { scopes: Object.keys(scopes).slice(0, 256) })
      }
    }
    case 'openIdConnect': return { scheme, kind: 'bearer', secrets: [secret('access_token')] }
    default: return undefined
  }
}

function httpAuth (scheme: string, kind: string, secret: (end: string) => string): TargetAuth | undefined {
  if (kind === 'bearer') return { scheme, kind, secrets: [secret('token')] }
  if (kind === 'basic') return { scheme, kind, secrets: [secret('username'), secret('password')] }
  return undefined
}

/** `MY_API_TOKEN` for the skill `my-api`. */
export function secretName (skill: string, end: string): string {
  const name = `${skill}_${end}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '')
  return (/^[A-Z]/.test(name) ? name : `S_${name}`).slice(0, 128)
}

/**
 * Credentials that a document does not mention: `bearer`, `basic`, `header:NAME`, `query:NAME` or `cookie:NAME`.
 * @returns undefined for another text
 */
export function addedAuth (text: string, skill: string): TargetAuth | undefined {
  const [, kind, name] = /^(header|query|cookie):(.+)$/s.exec(text) ?? []
  const scheme = `added ${text}`
  if (name !== undefined && (kind === 'header' || kind === 'query' || kind === 'cookie')) {
    return { scheme, kind, name, secrets: [secretName(skill, name)] }
  }
  return httpAuth(scheme, text, end => secretName(skill, end))
}
