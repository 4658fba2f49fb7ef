/** The targets of a path, by method. */
export interface Route<T> {
  readonly path: string
  readonly targets: Map<string, T>
  /** The value of the `Allow` header: every GET implies HEAD, and every path has OPTIONS. */
  allow: string
}

export interface Match<T> {
  route: Route<T>
  /** The undecoded values of the path's placeholders, in order. */
  values: readonly string[]
}

const none: readonly string[] = []

/**
 * Finds targets by path. Segments are compared as they were sent, not decoded; `{name}` matches one segment that is not
 * empty.
 */
export class Router<T> {
  /**
   * By the length of their path: few paths have the same length, and comparing with those is cheaper than hashing a
   * path.
   */
  readonly #fixed = new Map<number, Match<T>[]>()
  readonly #open: { segments: readonly string[], route: Route<T> }[] = []

  add (method: string, path: string, target: T): void {
    let route = this.#findFixed(path)?.route ?? this.#open.find(entry => entry.route.path === path)?.route
    if (route === undefined) {
      route = { path, targets: new Map(), allow: '' }
      if (path.includes('{')) this.#open.push({ segments: path.split('/'), route })
      else {
        const sameLength = this.#fixed.get(path.length) ?? []
        this.#fixed.set(path.length, sameLength)
        sameLength.push({ route, values: none })
      }
    }
    if (route.targets.has(method)) throw new Error(`two routes for ${method} ${path}`)
    route.targets.set(method, target)
    if (method === 'GET') route.targets.set('HEAD', target)
    route.allow = [...route.targets.keys(), 'OPTIONS'].join(', ')
  }

  find (path: string): Match<T> | undefined {
    return this.#findFixed(path) ?? this.#match(path)
  }

  #findFixed (path: string): Match<T> | undefined {
    const sameLength = this.#fixed.get(path.length)
    if (sameLength !== undefined) for (const match of sameLength) if (match.route.path === path) return match
    return undefined
  }

  #match (path: string): Match<T> | undefined {
    const parts = path.split('/')
    for (const { segments, route } of this.#open) {
      if (segments.length !== parts.length) continue
      const values: string[] = []
      const fits = segments.every((segment, i) => {
        const text = parts[i] ?? ''
        if (!segment.startsWith('{')) return segment === text
        values.push(text)
        return text !== ''
      })
      if (fits) return { route, values }
    }
    return undefined
  }
}
