import { SkilletError, type Access } from '../../../kernel/index.ts'
import { Addresses } from './addresses.ts'
import { Counters, type Policy, type Verdict } from './counters.ts'
import type { KeyHolder, Keys, NoKey } from './keys.ts'
import type { Exchange, HeaderBlock } from '../engine/server.ts'
import type { ServerSettings } from '../settings.ts'

/** The facts about a request that are known before its route is looked up or its body is read. */
export interface Admission {
  /** The rights of its key; undefined without a valid one. */
  readonly access: Access | undefined
  /** The error for operations that need a key; undefined when the request may use them. */
  readonly unauthorized: SkilletError | undefined
  /** The error for every operation, such as a full quota; undefined when the request is accepted. */
  readonly refusal: SkilletError | undefined
  /** The headers RateLimit-Policy and RateLimit for the reply. */
  readonly rate: HeaderBlock | undefined
}

/** Counts the further calls that one request contains. */
export interface Meter { readonly caller: string, charge (): SkilletError | undefined }

/**
 * For probes, which are not counted and need no key; and for requests without a key, where no key is required and no
 * limit is set.
 */
export const unchecked: Admission = { access: undefined, unauthorized: undefined, refusal: undefined, rate: undefined }

/** The number of addresses that each table holds: some 30 MB. */
const addressesMax = 65_536
/** The number of keys that the table holds, including keys that were revoked a short time ago. */
const keysMax = 20_000

/** The limits of a caller. Made once for each pair of numbers; it has no policies when both limits are off. */
interface Quota { readonly policies: readonly Policy[], readonly header: string }

/**
 * Finds the caller of a request, and counts the request: by its key where the key is valid, otherwise by its address.
 */
export class RequestGuard {
  readonly #auth_required: boolean
  readonly #keys: Keys
  readonly #addresses: Addresses
  readonly #byAddress: Counters
  readonly #byKey: Counters
  /**
   * Requests with wrong keys, by address. They have a table of their own: a client that guesses keys is stopped early,
   * and another client with the same address and a valid key is not.
   */
  readonly #failures: Counters
  readonly #usual: Quota
  readonly #failing: Quota
  readonly #quotas = new WeakMap<KeyHolder, Quota>()
  readonly #limits: { rate_limit_per_minute: number, rate_limit_per_hour: number }

  /** @throws Error naming a trusted proxy that is not an address, or when keys are required and there are none */
  constructor (server: ServerSettings, keys: Keys, now?: () => number) {
    const { auth_required, rate_limit_per_minute, rate_limit_per_hour, failed_auth_limit_per_minute, trusted_proxies } =
      server
    if (auth_required && keys.size === 0) {
      throw new Error('server.auth_required needs a key: make one with `skillet key create NAME`, or put one in the environment variable SERVICE_API_KEY')
    }
    this.#auth_required = auth_required
    this.#keys = keys
    this.#addresses = new Addresses(trusted_proxies)
    const clock = now === undefined ? {} : { now }
    this.#byAddress = new Counters({ callersMax: addressesMax, ...clock })
    this.#byKey = new Counters({ callersMax: keysMax, ...clock })
    this.#failures = new Counters({ callersMax: addressesMax, ...clock })
    this.#limits = { rate_limit_per_minute, rate_limit_per_hour }
    this.#usual = quotaOf(rate_limit_per_minute, rate_limit_per_hour)
    this.#failing = quotaOf(failed_auth_limit_per_minute, 0)
  }

  admit (exchange: Pick<Exchange, 'headers' | 'remote_address'>): Admission {
    const { headers } = exchange
    const lookup = this.#keys.holderOf(headers)
    const holder = typeof lookup === 'string' ? undefined : lookup
    if (holder === undefined && !this.#auth_required && this.#usual.policies.length === 0) return unchecked
    const quota = holder === undefined ? this.#usual : this.#quotaOf(holder)
    // The address is read only where it is needed: reading it costs the engine as much as the rest of this method.
    const counts = quota.policies.length > 0 || (this.#auth_required && lookup === 'wrong')
    const address = holder === undefined && counts ? this.#addresses.callerOf(exchange.remote_address, headers) : ''
    const verdict = quota.policies.length === 0
      ? undefined
      : holder === undefined
        ? this.#byAddress.take(address, quota.policies)
        : this.#byKey.take(holder.access.key, quota.policies)
    let refusal = verdict?.refusedBy === undefined ? undefined : refused(verdict, 'Too many requests')
    if (this.#auth_required && lookup === 'wrong' && this.#failing.policies.length > 0) {
      const failures = this.#failures.take(address, this.#failing.policies)
      if (failures.refusedBy !== undefined) refusal ??= refused(failures, 'Too many requests with wrong API keys')
    }
    return {
      access: holder?.access,
      unauthorized: this.#auth_required && typeof lookup === 'string' ? unauthorized(lookup) : undefined,
      refusal,
      rate: verdict === undefined ? undefined : ['RateLimit-Policy', quota.header, 'RateLimit', leftHeader(verdict)]
    }
  }

  /** The caller of an accepted request, and a function that counts further calls in that request. */
  meter (exchange: Pick<Exchange, 'headers' | 'remote_address'>): Meter {
    const lookup = this.#keys.holderOf(exchange.headers)
    const holder = typeof lookup === 'string' ? undefined : lookup
    const [counters, name, { policies }] = holder === undefined
      ? [this.#byAddress, this.#addresses.callerOf(exchange.remote_address, exchange.headers), this.#usual] as const
      : [this.#byKey, holder.access.key, this.#quotaOf(holder)] as const
    return {
      caller: `${holder === undefined ? 'address' : 'key'} ${name}`,
      charge () {
        if (policies.length === 0) return undefined
        const verdict = counters.take(name, policies)
        return verdict.refusedBy === undefined ? undefined : refused(verdict, 'Too many calls')
      }
    }
  }

  #quotaOf (holder: KeyHolder): Quota {
    let quota = this.#quotas.get(holder)
    if (quota === undefined) {
      const { rate_limit_per_minute, rate_limit_per_hour } = { ...this.#limits, ...holder.limits }
      this.#quotas.set(holder, quota = quotaOf(rate_limit_per_minute, rate_limit_per_hour))
    }
    return quota
  }
}

function quotaOf (per_minute: number, per_hour: number): Quota {
  const policies = [
    { name: 'minute', quota: per_minute, window_s: 60 },
    { name: 'hour', quota: per_hour, window_s: 3_600 }
  ].filter(({ quota }) => quota > 0)
  return {
    policies,
    header: policies.map(({ name, quota, window_s }) => `"${name}";q=${quota};w=${window_s}`).join(', ')
  }
}

/**
 * The format of draft-ietf-httpapi-ratelimit-headers: for each policy, the requests that are left and the seconds until
 * its window begins anew.
 */
function leftHeader ({ left }: Verdict): string {
  let text = ''
  for (const { policy: { name }, remaining, reset_s } of left) {
    text += `${text === '' ? '' : ', '}"${name}";r=${remaining};t=${reset_s}`
  }
  return text
}

/** The client may try again when every full window has ended. */
function refused ({ left }: Verdict, subject: string): SkilletError {
  const full = left.filter(({ remaining }) => remaining === 0)
  const retry_after_s = Math.max(...full.map(({ reset_s }) => reset_s))
  const limits = full.map(({ policy: { name, quota } }) => `${quota} per ${name}`).join(' and ')
  return new SkilletError('RATE_LIMITED', `${subject}: the limit is ${limits}; try again in ${retry_after_s} s`, {
    limit: full.map(({ policy }) => policy.name),
    retry_after_s
  })
}

function unauthorized (failure: NoKey): SkilletError {
  return new SkilletError('UNAUTHORIZED', failure === 'wrong'
    ? 'The API key is not valid'
    : 'An API key is required: send "Authorization: Bearer KEY" or "X-API-Key: KEY"')
}
