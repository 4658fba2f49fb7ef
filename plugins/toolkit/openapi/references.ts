import { isObject, type JsonObject } from '../../../kernel/index.ts'
import { referencesMax } from './limits.ts'
import { own, textAt } from './values.ts'

/** The references within a document. Nothing is replaced: each is followed when what it names is needed. */
export class References {
  readonly #root: JsonObject

  constructor (root: JsonObject) {
    this.#root = root
  }

  /**
   * The object at a place, after all references.
   * @throws Error when a reference leads nowhere, or in a circle
   */
  follow (value: unknown): JsonObject {
    let found = value
    for (let i = 0; i <= referencesMax; i++) {
      if (!isObject(found)) throw new Error('an object is expected where there is none')
      const reference = textAt(found, '$ref')
      if (reference === undefined) return found
      found = this.at(reference)
    }
    throw new Error(`its references lead in a circle, or through more than ${referencesMax} others`)
  }

  /** What a reference such as `#/components/schemas/Pet` names. @throws Error when it leads nowhere */
  at (reference: string): unknown {
    if (reference === '#') return this.#root
    if (!reference.startsWith('#/')) throw new Error(`the reference "${reference.slice(0, 200)}" can't be followed`)
    let value: unknown = this.#root
    for (const part of reference.slice(2).split('/')) {
      const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
      if (Array.isArray(value)) value = (value as unknown[])[Number(key)]
      else value = isObject(value) ? own(value, key) : undefined
      if (value === undefined) throw new Error(`the reference "${reference.slice(0, 200)}" leads nowhere`)
    }
    return value
  }
}

function decoded (part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
