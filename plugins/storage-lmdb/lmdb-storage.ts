import type {
  Lease, Execution, ExecutionFilter, ExecutionPage, ExecutionQuery, FoundPage, KeyedExecution, ProcessIdentity,
  SoughtWord, Storage, StoredExecution, UnfinishedExecution
} from '../../kernel/index.ts'
import type { Environment } from './environment.ts'
import { LmdbCache } from './lmdb-cache.ts'
import type { History, Settle } from './history.ts'
import type { Keys } from './keys.ts'
import { listPage } from './list.ts'
import { Matches } from './text/matches.ts'
import type { TextSearch } from './text/text-search.ts'
import { recordsOf, visit } from './visit.ts'
import type { Writer } from './writer.ts'

/** The storage contract, implemented by a history on disk and the writer that commits to it. */
export class LmdbStorage implements Storage {
  readonly cache: LmdbCache
  readonly #env: Environment
  readonly #history: History
  readonly #writer: Writer
  readonly #keys: Keys
  readonly #texts: TextSearch

  constructor (env: Environment, history: History, writer: Writer, keys: Keys, texts: TextSearch) {
    this.cache = new LmdbCache(env)
    this.#env = env
    this.#history = history
    this.#writer = writer
    this.#keys = keys
    this.#texts = texts
  }

  admit (): void {
    this.#writer.admit()
  }

  save (stored: StoredExecution): void {
    this.#writer.save(stored)
  }

  commit (): Promise<void> {
    return this.#writer.commit()
  }

  async get (id: string): Promise<StoredExecution | undefined> {
    const pending = this.#writer.find(id)
    // A separate copy, in the form that the record will have on disk.
    return pending === undefined ? this.#history.get(id) : JSON.parse(JSON.stringify(pending)) as StoredExecution
  }

  async list (query: ExecutionQuery): Promise<ExecutionPage> {
    await this.#writer.settled()
    return await listPage(this.#env, this.#history, query)
  }

  async find (words: readonly SoughtWord[], query: ExecutionQuery): Promise<FoundPage> {
    await this.#writer.settled()
    const found = await this.#texts.find(words)
    const page = await listPage(this.#env, this.#history, { ...query, matches: new Matches(words, found) })
    return { ...page, unindexed: found.unindexed }
  }

  async visit (...[filter, visitorOf]: Parameters<Storage['visit']>): Promise<void> {
    await this.#writer.settled()
    await visit(this.#env, this.#history, filter, visitorOf)
  }

  async * records (filter: ExecutionFilter): AsyncGenerator<Execution, void, undefined> {
    await this.#writer.settled()
    yield * recordsOf(this.#env, this.#history, filter)
  }

  async unfinished (): Promise<UnfinishedExecution[]> {
    await this.#writer.settled()
    return await this.#history.unfinished()
  }

  async endUnfinished (
    unfinished: readonly UnfinishedExecution[],
    end: (execution: Execution) => Execution | undefined
  ): Promise<string[]> {
    return await this.#settle(unfinished, present => {
      const execution = end(present)
      return execution === undefined ? undefined : { execution, owner: null }
    })
  }

  async takeOver (
    unfinished: readonly UnfinishedExecution[],
    owner: ProcessIdentity,
    mayTake: (execution: Execution) => boolean
  ): Promise<Execution[]> {
    const taken = new Map<string, Execution>()
    const ids = await this.#settle(unfinished, execution => {
      if (!mayTake(execution)) return undefined
      taken.set(execution.id, execution)
      return { execution, owner }
    })
    return ids.flatMap(id => taken.get(id) ?? [])
  }

  async saveOnce (key: string, keyed: KeyedExecution, stored: StoredExecution): Promise<KeyedExecution | undefined> {
    return await this.#writer.once(stored, () => this.#keys.claim(key, keyed))
  }

  /** Changes unfinished executions in as many transactions as that needs. @returns the ids of those that changed */
  async #settle (unfinished: readonly UnfinishedExecution[], settle: Settle): Promise<string[]> {
    await this.#writer.settled() // an end that was saved before must be on disk first
    const ids: string[] = []
    for (let rest = unfinished; rest.length > 0;) {
      const { seen, settled } = await this.#writer.settle(rest, settle)
      ids.push(...settled)
      rest = rest.slice(seen)
    }
    return ids
  }

  async requestCancel (id: string): Promise<void> {
    await this.#writer.settled()
    const { unfinished, cancels } = this.#env
    if (this.#history.get(id) === undefined) return
    await this.#env.transact(() => {
      if (unfinished.get(id) !== undefined) cancels.putSync(id, '1')
    })
  }

  cancelRequests (): string[] {
    return [...this.#env.cancels.getKeys({})]
  }

  async claim (role: string, claim: Lease, isAlive: (owner: ProcessIdentity) => boolean): Promise<Lease | undefined> {
    const { roles } = this.#env
    return await this.#env.transact(() => {
      const holder = holderOf(roles.get(role))
      if (holder !== undefined && !isSame(holder.owner, claim.owner) && isAlive(holder.owner)) return holder
      roles.putSync(role, JSON.stringify(claim))
      return undefined
    })
  }

  async holder (role: string): Promise<Lease | undefined> {
    return holderOf(this.#env.roles.get(role))
  }

  async release (role: string, owner: ProcessIdentity): Promise<void> {
    const { roles } = this.#env
    await this.#env.transact(() => {
      const holder = holderOf(roles.get(role))
      if (holder !== undefined && isSame(holder.owner, owner)) roles.removeSync(role)
    })
  }
}

function holderOf (text: string | undefined): Lease | undefined {
  return text === undefined ? undefined : JSON.parse(text) as Lease // written by `claim`
}

function isSame (a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started
}
