import { LRUCache } from 'lru-cache'

/** So many requests in a window, which begins with the first request that it counts. */
export interface Policy { readonly name: string, readonly quota: number, readonly window_s: number }

interface Window { used: number, until_ms: number }
interface Entry { readonly policies: readonly Policy[], readonly windows: readonly Window[] }

export interface CountersOptions {
  /** Callers remembered at once. */
  callersMax: number
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

/** What a caller may still do in a window, after this request. */
export interface Left { readonly policy: Policy, readonly remaining: number, readonly reset_s: number }
export interface Verdict { readonly refusedBy: Policy | undefined, readonly left: readonly Left[] }

/**
 * Counts requests by caller. Synchronous, since the engines want a body asked for before a handler returns; and
 * bounded. docs/decisions/rate-limits.md says why no library counts.
 *
 * When the table is full, the caller whose longest window began first is forgotten, and may begin anew. So nobody new
 * is ever refused for the others' number, and who commands more addresses than the table holds gains little: each of
 * them has a full quota anyway.
 */
export class Counters {
  /** In the order in which the longest window began: they are peeked at, which does not make one the latest. */
  readonly #entries: LRUCache<string, Entry>
  readonly #now: () => number

  constructor ({ callersMax, now = () => performance.now() }: CountersOptions) {
    // By size, of which each has 1: what is bounded by `max` is allocated at once, which would hold the start.
    this.#entries = new LRUCache({ maxSize: callersMax, sizeCalculation: () => 1 })
    this.#now = now
  }

  /** How many callers are remembered. */
  get size (): number {
    return this.#entries.size
  }

  /**
   * Counts a request in all windows, or, when one of them is full, in none.
   * @param policies of this caller; the same array each time, another begins anew
   */
  take (caller: string, policies: readonly Policy[]): Verdict {
    const now = this.#now()
    const entry = this.#find(caller, policies, now)
    let refusedBy: Policy | undefined
    for (let i = 0; i < policies.length; i++) {
      const policy = policies[i] as Policy
      const { used, until_ms } = entry.windows[i] as Window // there is one for each policy
      if (until_ms > now && used >= policy.quota) refusedBy = policy
    }
    const left = policies.map((policy, i) => {
      const window = entry.windows[i] as Window
      if (window.until_ms <= now) {
        window.used = 0
        if (refusedBy === undefined) window.until_ms = now + policy.window_s * 1000
      }
      if (refusedBy === undefined) window.used++
      const rest_ms = window.until_ms > now ? window.until_ms - now : policy.window_s * 1000
      return { policy, remaining: Math.max(policy.quota - window.used, 0), reset_s: Math.ceil(rest_ms / 1000) }
    })
    return { refusedBy, left }
  }

  #find (caller: string, policies: readonly Policy[], now: number): Entry {
    let entry = this.#entries.peek(caller)
    if (entry?.policies === policies && !hasEnded(entry, now)) return entry
    this.#entries.delete(caller)
    this.#dropEnded(now)
    entry = { policies, windows: policies.map(() => ({ used: 0, until_ms: 0 })) }
    this.#entries.set(caller, entry) // in a full table, in the place of the oldest
    return entry
  }

  /** Drops two that have ended, so that a table that was full empties again. */
  #dropEnded (now: number): void {
    for (let dropped = 0; dropped < 2; dropped++) {
      const [oldest] = this.#entries.rvalues()
      if (oldest === undefined || !hasEnded(oldest, now)) return
      this.#entries.pop()
    }
  }
}

function hasEnded ({ windows }: Entry, now: number): boolean {
  return windows.every(({ until_ms }) => until_ms <= now)
}
