import type { RateLimiterAbstract } from 'rate-limiter-flexible'

/** So many requests in a window, which begins with the first request that it counts. */
export interface Policy { readonly name: string, readonly quota: number, readonly window_s: number }

interface Window { used: number, until_ms: number }
interface Entry { readonly policies: readonly Policy[], readonly windows: readonly Window[] }

export interface CountersOptions {
  /** Callers remembered at once. */
  callersMax: number
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
  /**
   * Counters of several servers together, by policy: any store of rate-limiter-flexible. What is counted here is told
   * to it and its answer taken over, behind the request: servers that share a store exceed a limit together by no more
   * than what is on its way. While it fails, each counts for itself.
   */
  shared?: ReadonlyMap<string, Pick<RateLimiterAbstract, 'consume'>>
}

/** What a caller may still do in a window, after this request. */
export interface Left { readonly policy: Policy, readonly remaining: number, readonly reset_s: number }
export interface Verdict { readonly refusedBy: Policy | undefined, readonly left: readonly Left[] }

/**
 * Counts requests by caller. Synchronous, since the engines want a body asked for before a handler returns; and bounded,
 * which the memory store of rate-limiter-flexible is not.
 *
 * When the table is full, the caller whose longest window began first is forgotten, and may begin anew. So nobody new
 * is ever refused for the others' number, and who commands more addresses than the table holds gains little: each of
 * them has a full quota anyway.
 */
export class Counters {
  /** In the order in which the longest window began. */
  readonly #entries = new Map<string, Entry>()
  readonly #callersMax: number
  readonly #now: () => number
  readonly #shared: CountersOptions['shared']

  constructor ({ callersMax, now = () => performance.now(), shared }: CountersOptions) {
    this.#callersMax = callersMax
    this.#now = now
    this.#shared = shared
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
    if (refusedBy === undefined && this.#shared !== undefined) void this.#share(caller, entry)
    return { refusedBy, left }
  }

  #find (caller: string, policies: readonly Policy[], now: number): Entry {
    let entry = this.#entries.get(caller)
    if (entry?.policies === policies && !hasEnded(entry, now)) return entry
    this.#entries.delete(caller)
    this.#shrink(now)
    entry = { policies, windows: policies.map(() => ({ used: 0, until_ms: 0 })) }
    this.#entries.set(caller, entry)
    return entry
  }

  /** Drops the oldest when there are too many, and two that have ended, so that a table that was full empties again. */
  #shrink (now: number): void {
    let looked = 0
    for (const [caller, entry] of this.#entries) {
      if (this.#entries.size < this.#callersMax && (looked++ === 2 || !hasEnded(entry, now))) return
      this.#entries.delete(caller)
    }
  }

  async #share (caller: string, { policies, windows }: Entry): Promise<void> {
    for (const [i, { name }] of policies.entries()) {
      // A refusal rejects with the same as what an admission resolves with.
      const answer: unknown = await this.#shared?.get(name)?.consume(caller).catch((refusal: unknown) => refusal)
      const window = windows[i] as Window
      if (!isAnswer(answer)) continue
      window.used = Math.max(window.used, answer.consumedPoints)
      window.until_ms = this.#now() + answer.msBeforeNext
    }
  }
}

function hasEnded ({ windows }: Entry, now: number): boolean {
  return windows.every(({ until_ms }) => until_ms <= now)
}

function isAnswer (answer: unknown): answer is { consumedPoints: number, msBeforeNext: number } {
  return typeof answer === 'object' && answer !== null && 'consumedPoints' in answer && 'msBeforeNext' in answer
}
