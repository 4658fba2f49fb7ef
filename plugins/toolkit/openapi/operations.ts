import { isObject, type JsonObject } from '../../../kernel/index.ts'
import type { References } from './references.ts'
import { listAt, objectAt, textAt } from './values.ts'

/** The methods that an operation can have, in the order in which they are shown. */
export const METHODS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete', 'trace'] as const
export type Method = typeof METHODS[number]

/** An operation of a document, with what its path says for all operations. */
export interface Operation {
  method: Method
  path: string
  /** `GET /pets/{id}`: what names the operation for certain. */
  key: string
  id: string | undefined
  tags: string[]
  item: JsonObject
  value: JsonObject
}

/** The operations of a document, in its order. What is no operation is passed over. */
export function operationsIn (document: JsonObject, references: References): Operation[] {
  return Object.entries(objectAt(document, 'paths')).flatMap(([path, given]) => {
    if (!path.startsWith('/') || !isObject(given)) return []
    const item = textAt(given, '$ref') === undefined ? given : { ...tryFollow(given, references), ...given }
    return METHODS.flatMap(method => {
      const value = item[method]
      if (!isObject(value)) return []
      const tags = listAt(value, 'tags').filter(tag => typeof tag === 'string')
      const id = textAt(value, 'operationId')
      return { method, path, key: `${method.toUpperCase()} ${path}`, id, tags, item, value }
    })
  })
}

function tryFollow (item: JsonObject, references: References): JsonObject {
  try {
    return references.follow(item)
  } catch {
    return {} // a path that leads nowhere has no operations
  }
}

/** A part of a document: `tag:pets`, `path:/pets/*`, `operation:getPet`, or any of these without the kind. */
export function matches ({ tags, path, id, key }: Operation, filter: string): boolean {
  const [, kind, text = ''] = /^(?:(tag|path|operation):)?(.*)$/s.exec(filter) ?? []
  const fits = (value: string): boolean => wildcard(text, value)
  return (kind !== 'path' && kind !== 'operation' && tags.some(fits))
    || (kind !== 'tag' && kind !== 'operation' && fits(path))
    || (kind !== 'tag' && kind !== 'path' && ((id !== undefined && fits(id)) || fits(key)))
}

/** `*` stands for any text. Linear: the parts are looked for one after the other. */
function wildcard (pattern: string, value: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return value === pattern
  if (!value.startsWith(first)) return false
  const last = rest.pop() ?? ''
  let at = first.length
  for (const part of rest) {
    const found = value.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return value.length - last.length >= at && value.endsWith(last)
}
