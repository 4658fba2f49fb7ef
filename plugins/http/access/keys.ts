import { timingSafeEqual } from 'node:crypto'
import {
  accessOf, Canceller, defaultKeyName, hashKey, SCOPES, type Access, type KeySettings
} from '../../../kernel/index.ts'
import { headerOf, type HeaderBlock } from '../engine/server.ts'

/** The holder of a key. */
export interface KeyHolder {
  readonly access: Access
  /** The key's own limits, where it has them. */
  readonly limits: Pick<KeySettings, 'rate_limit_per_minute' | 'rate_limit_per_hour'>
}

interface NamedKey {
  /**
   * The text from which the holder was made: a key that did not change keeps its holder, and a key whose rights did not
   * change keeps its access.
   */
  readonly text: string
  readonly rights: string
  readonly hash: string
  readonly holder: KeyHolder
  readonly revoked: Canceller
}

/** Why a request has no key holder: it sent no key, or a key that is not valid. */
export type NoKey = 'missing' | 'wrong'

/** The keys of the server, which may change while it runs. */
export class Keys {
  readonly #default: { readonly digest: Buffer, readonly holder: KeyHolder } | undefined
  #named: ReadonlyMap<string, NamedKey> = new Map()
  /**
   * Holders by the hash of their key. The time of a look-up may reveal something about a digest. This does not help an
   * attacker: a named key has 256 random bits, so that nobody finds it by its digest. The default key can be any text
   * that the user chose, and is compared in constant time.
   */
  #byHash = new Map<string, KeyHolder>()

  /**
   * @param defaultKey SERVICE_API_KEY: the key named `default`, which has all rights
   * @throws Error when the key can't be sent in a header
   */
  constructor (defaultKey: string | undefined) {
    if (defaultKey === undefined || defaultKey === '') return
    if (!/^[\x21-\x7e]+$/.test(defaultKey)) {
      throw new Error('SERVICE_API_KEY holds characters that no header can carry; use printable ASCII without spaces')
    }
    this.#default = {
      digest: Buffer.from(hashKey(defaultKey)),
      holder: { access: accessOf(defaultKeyName, { scopes: [...SCOPES], skills: [] }), limits: {} }
    }
  }

  get size (): number {
    return this.#byHash.size + (this.#default === undefined ? 0 : 1)
  }

  /**
   * Replaces the named keys. Requests that still run with a removed key, or with a key whose rights changed, are
   * aborted.
   */
  replace (keys: Readonly<Record<string, KeySettings>>): void {
    const before = this.#named
    this.#named =
      new Map(Object.entries(keys).map(([name, settings]) => [name, namedKey(name, settings, before.get(name))]))
    this.#byHash = new Map([...this.#named.values()].map(({ hash, holder }) => [hash, holder]))
    for (const [name, { revoked }] of before) if (this.#named.get(name)?.revoked !== revoked) revoked.abort()
  }

  /**
   * The holder of the key of a request. Two different keys count as no key, since it is unclear which of them was
   * meant.
   */
  holderOf (headers: HeaderBlock): KeyHolder | NoKey {
    const authorization = headerOf(headers, 'authorization')
    const bearer = authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1]
    const apiKey = headerOf(headers, 'x-api-key')
    if (bearer === undefined && apiKey === undefined) return authorization === undefined ? 'missing' : 'wrong'
    if (bearer !== undefined && apiKey !== undefined && bearer !== apiKey) return 'wrong'
    const hash = hashKey(bearer ?? apiKey ?? '')
    if (this.#default !== undefined && timingSafeEqual(Buffer.from(hash), this.#default.digest)) {
      return this.#default.holder
    }
    return this.#byHash.get(hash) ?? 'wrong'
  }
}

function namedKey (name: string, settings: KeySettings, before: NamedKey | undefined): NamedKey {
  const { hash, scopes, skills } = settings
  const text = JSON.stringify(settings)
  if (before?.text === text) return before
  const rights = JSON.stringify([hash, scopes, skills])
  if (before?.rights === rights) return { ...before, text, holder: { access: before.holder.access, limits: settings } }
  const revoked = new Canceller()
  return { text, rights, hash, holder: { access: { ...accessOf(name, settings), revoked }, limits: settings }, revoked }
}
