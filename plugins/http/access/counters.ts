import { LRUCache } from 'lru-cache'

/** A quota of requests in a window of time. The window begins with the first request that it counts. */
export interface Policy { readonly name: string, readonly quota: number, readonly window_s: number }

interface Window { used: number, until_ms: number }
interface Entry { readonly policies: readonly Policy[], readonly windows: readonly Window[] }

export interface CountersOptions {
  /** The number of callers that the table holds. */
  callersMax: number
  /** The milliseconds of a clock that never goes back. */
  now?: () => number
}

/** The number of requests that a caller has left in a window, after this request. */
export interface Left { readonly policy: Policy, readonly remaining: number, readonly reset_s: number }
export interface Verdict { readonly refusedBy: Policy | undefined, readonly left: readonly Left[] }

/**
 * Counts requests by caller. It is synchronous, since the engines require that a handler asks for the body before it
 * returns; and its memory is bounded. docs/decisions/rate-limits.md says why no library is used for counting. When the
 * table is full, the caller whose longest window began first is removed, and begins anew with its next request. So a
 * new caller is never refused because the other callers are many. A client with more addresses than the table holds
 * gains little: each of its addresses has a full quota anyway.
 */
export class Counters {
  /**
   * In the order in which the longest windows began. Entries are read with `peek`, which does not change that order.
   */
  readonly #entries: LRUCache<string, Entry>
  readonly #now: () => number

  constructor ({ callersMax, now = () => performance.now() }: CountersOptions) {
    // Each entry has size 1. The table is bounded by size because `max` allocates the whole table at once, which would
    // slow the start.
    this.#entries = new LRUCache({ maxSize: callersMax, sizeCalculation: () => 1 })
    this.#now = now
  }

  /** The number of callers in the table. */
  get size (): number {
    return this.#entries.size
  }

  /**
   * Counts a request in all windows; when one of the windows is full, counts it in none.
   * @param policies the policies of this caller; pass the same array each time, since another array begins new windows
   */
  take (caller: string, policies: readonly Policy[]): Verdict {
    const now = this.#now()
    const entry = this.#find(caller, policies, now)
    let refusedBy: Policy | undefined
    for (let i = 0; i < policies.length; i++) {
      const policy = policies[i] as Policy
      const { used, until_ms } = entry.windows[i] as Window // each policy has a window
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
    this.#entries.set(caller, entry) // when the table is full, this removes the oldest entry
    return entry
  }

  /** Removes two entries whose windows have ended, so that a full table empties again. */
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
