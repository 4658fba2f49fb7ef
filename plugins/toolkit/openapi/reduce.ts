import { isObject, type JsonObject } from '../../../kernel/index.ts'
import type { Operation } from './operations.ts'
import { References } from './references.ts'
import { nameKey } from './tools.ts'
import { objectAt, own, textAt } from './values.ts'

/** What of an operation and a path is kept: all that a call needs. */
const kept = [
  'operationId', 'summary', 'description', 'tags', 'parameters', 'requestBody', 'security', 'servers', 'deprecated'
]
/** Keys whose values a call does not need, wherever they stand. */
const dropped = new Set(['example', 'examples', 'externalDocs', 'xml'])

/**
 * A copy of a document with some of its operations, and with what these refer to for their calls. Of answers only the
 * media types and the names of headers stay.
 * @param names the names of the operations' tools, by their keys
 */
export function reduceDocument (
  document: JsonObject, operations: readonly Operation[], names: ReadonlyMap<string, string>
): JsonObject {
  const copy = new Copy(document)
  const paths: JsonObject = {}
  for (const { path, item, method, value, key } of operations) {
    const place = own(paths, path)
    const target: JsonObject = isObject(place) ? place : copy.fields(item, kept)
    paths[path] = target
    target[method] = {
      ...copy.fields(value, kept), responses: copy.responses(objectAt(value, 'responses')),
      [nameKey]: names.get(key)
    }
  }
  const reduced = {
    openapi: document['openapi'] ?? '3.0.3', info: objectAt(document, 'info'),
    ...copy.fields(document, ['servers', 'security']), paths
  }
  copy.place('#/components/securitySchemes', true)
  return copy.withPlaces(reduced)
}

/** Copies parts of a document, and remembers what they refer to. */
class Copy {
  readonly #references: References
  /** References that were met, with what they name; in the order in which they were met. */
  readonly #places = new Map<string, unknown>()

  constructor (document: JsonObject) {
    this.#references = new References(document)
  }

  fields (value: JsonObject, names: readonly string[]): JsonObject {
    return Object.fromEntries(names.filter(name => own(value, name) !== undefined)
      .map(name => [name, this.#copy(value[name])]))
  }

  responses (responses: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(responses).filter(([status]) => /^(2|default)/.test(status))
      .map(([status, response]) => [status, this.#response(response)]))
  }

  /** Takes what is at a place along, if there is something. */
  place (reference: string, isNamed = false): void {
    if (this.#places.has(reference)) return
    try {
      this.#places.set(reference, undefined)
      this.#places.set(reference, this.#copy(this.#references.at(reference), isNamed))
    } catch {
      this.#places.delete(reference) // what needs it is left out by name when the tools are made
    }
  }

  /** Adds all that was met, where the references look for it. */
  withPlaces (document: JsonObject): JsonObject {
    const places = [...this.#places]
      .map(([reference, value]) => ({ parts: reference.slice(2).split('/').map(keyOf), value }))
    // What is within another place comes with it.
    for (const { parts, value } of places.sort((a, b) => a.parts.length - b.parts.length)) {
      if (parts[0] !== 'paths') put(document, parts, value) // those are copied with their operations
    }
    return document
  }

  #response (response: unknown): JsonObject {
    try {
      const { content, headers, links } = this.#references.follow(response)
      const names = (value: unknown): JsonObject =>
        Object.fromEntries(Object.keys(isObject(value) ? value : {}).map(name => [name, {}]))
      return {
        description: '', ...(isObject(content) && { content: names(content) }),
        ...(isObject(headers) && { headers: names(headers) }), ...(isObject(links) && { links: names(links) })
      }
    } catch {
      return { description: '' }
    }
  }

  #copy (value: unknown, isNamed = false): unknown {
    if (Array.isArray(value)) return value.map(inner => this.#copy(inner))
    if (!isObject(value)) return value
    const reference = isNamed ? undefined : textAt(value, '$ref')
    if (reference !== undefined && reference.startsWith('#')) this.place(reference)
    return Object.fromEntries(Object.entries(value)
      .filter(([key]) => isNamed || (!dropped.has(key) && !key.startsWith('x-')))
      .map(([key, inner]) => [key, this.#copy(inner, !isNamed && key === 'properties')]))
  }
}

function put (root: JsonObject, parts: readonly string[], value: unknown): void {
  let holder: object = root
  for (const [i, part] of parts.entries()) {
    const inner: unknown = Object.hasOwn(holder, part) ? (holder as JsonObject)[part] : undefined // of a list, too
    const isLast = i === parts.length - 1
    if (typeof inner === 'object' && inner !== null) {
      holder = inner
      continue
    }
    const next = isLast ? value : {}
    Object.defineProperty(holder, part, { value: next, enumerable: true, configurable: true, writable: true })
    if (typeof next !== 'object' || next === null) return
    holder = next
  }
}

function keyOf (part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return part
  }
}
