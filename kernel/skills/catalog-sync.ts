import type { Bus } from '../contracts/bus.ts'
import type { Config } from '../contracts/config.ts'
import type { Catalog } from './catalog.ts'
import { ConfiguredInstances } from './instances.ts'
import type { Search } from '../contracts/search.ts'
import type { LoadedSkills, SkillSource } from '../contracts/skill-source.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { inTurns } from '../lib/pauses.ts'
import type { QuarantinedSkill } from '../contracts/status.ts'
import { Scope } from '../lib/scope.ts'

/** Delay before a failed source is loaded again, in milliseconds. It doubles after each failure, up to `most`. */
const retry_ms = { first: 500, most: 60_000 }

/** A source and its state. */
interface Feeding {
  readonly source: SkillSource
  /** The result of the last successful load. */
  loaded: LoadedSkills | undefined
  /** Whether the source must be loaded again: it reported a change, or its last load failed. */
  changed: boolean
  loading: Promise<void> | undefined
  /** Number of consecutive failures. */
  failures: number
  retry: NodeJS.Timeout | undefined
}

/** Loads the catalog and the search index from the sources, and updates both when sources change. */
export class CatalogSync {
  readonly #catalog: Catalog
  readonly #feedings: readonly Feeding[]
  readonly #instances: ConfiguredInstances
  readonly #bus: Bus
  readonly #log: Logger
  readonly #scope = new Scope()
  readonly #closed = new AbortController()
  #following = false
  /** The log lines about broken skills that were already written. */
  #reported: ReadonlySet<string> = new Set()
  /** Whether a source was loaded whose result is not in the catalog yet. */
  #unpublished = false
  #publishing: Promise<void> | undefined
  /** Whether the skills in the search index differ from the catalog. */
  #stale = false
  #indexing: Promise<void> | undefined

  /** The search that indexes the skills; undefined until `index` is called. */
  #search: Search | undefined

  /** @throws Error when the instances of a skill in the configuration contradict each other */
  constructor (
    catalog: Catalog, sources: readonly SkillSource[], config: Pick<Config, 'skills'>, bus: Bus, log: Logger
  ) {
    this.#catalog = catalog
    this.#instances = new ConfiguredInstances(config)
    this.#feedings = sources.map(source =>
      ({ source, loaded: undefined, changed: false, loading: undefined, failures: 0, retry: undefined }))
    this.#bus = bus
    this.#log = log
  }

  /**
   * Loads all sources. Rejects with the error of a source that failed.
   * @param only the name of the only skill that is needed. When no such skill exists, all skills are loaded, because
   * the error message needs them.
   */
  async load (signal: AbortSignal, only?: string): Promise<void> {
    await Promise.all(this.#feedings.map(async feeding => { feeding.loaded = await feeding.source.load(signal, only) }))
    await this.#publish()
    if (only !== undefined && !this.#catalog.skills.some(({ name }) => name === only)) await this.load(signal)
  }

  /** Indexes the skills in a search, now and whenever they change. Rejects with the error of the search. */
  async index (search: Search): Promise<void> {
    this.#search = search
    await this.#index()
  }

  /** Loads a source again when it changes, until `close`. Changes that happen during a load are combined. */
  follow (): void {
    this.#following = true
    for (const feeding of this.#feedings) {
      const stop = feeding.source.watch?.(() => { this.#reload(feeding) })
      if (stop !== undefined) this.#scope.defer(stop)
    }
  }

  /** Stops loading. Resolves when all running loads and updates have ended. */
  async close (): Promise<void> {
    this.#closed.abort(new Error('the kernel is stopping'))
    for (const { retry } of this.#feedings) clearTimeout(retry)
    await this.#scope.close()
    await Promise.all(this.#feedings.map(({ loading }) => loading))
    await this.#publishing
    await this.#indexing?.catch(() => {}) // the error was logged already
  }

  #reload (feeding: Feeding): void {
    clearTimeout(feeding.retry)
    feeding.changed = true
    feeding.loading ??= this.#loadAgain(feeding).finally(() => { feeding.loading = undefined })
  }

  /**
   * Loads one source again. Each source is loaded separately, so that a source which fails, or takes long, does not
   * delay the changes of another source. After a failure the last result stays, and the source is loaded again later.
   */
  async #loadAgain (feeding: Feeding): Promise<void> {
    await new Promise(resolve => { setImmediate(resolve) }) // changes in one turn of the event loop are combined
    while (feeding.changed && !this.#closed.signal.aborted) {
      feeding.changed = false
      try {
        feeding.loaded = await feeding.source.load(this.#closed.signal)
        feeding.failures = 0
        this.#unpublished = true
        this.#publishing ??= this.#publishChanges().finally(() => { this.#publishing = undefined })
      } catch (error) {
        if (this.#closed.signal.aborted) return
        const again_ms =
          feeding.changed ? retry_ms.first : Math.min(retry_ms.first * 2 ** feeding.failures, retry_ms.most)
        feeding.failures++
        this.#log.error(
          { error: messageOf(error), again_ms },
          'the skills of a source could not be reloaded; what it gave last stays'
        )
        feeding.retry = setTimeout(() => { this.#reload(feeding) }, again_ms).unref()
        return
      }
    }
  }

  /** Updates the catalog and the search with the loaded results. Never rejects. */
  async #publishChanges (): Promise<void> {
    await new Promise(resolve => { setImmediate(resolve) })
    while (this.#unpublished && !this.#closed.signal.aborted) {
      this.#unpublished = false
      try {
        if (!await this.#publish()) continue
        this.#index().catch((error: unknown) => {
          this.#log.error({ error: messageOf(error) }, 'the search does not know the present skills')
        })
      } catch (error) {
        this.#log.error({ error: messageOf(error) }, 'the skills could not be replaced')
      }
    }
  }

  /** @returns whether the skills changed */
  async #publish (): Promise<boolean> {
    const sources = this.#feedings.flatMap(({ loaded }) => loaded ?? [])
    const changes = await inTurns(this.#catalog.replace(sources.map(({ skills, ...rest }) =>
      ({ ...rest, skills: skills.map(skill => this.#instances.of(skill)) }))))
    const { size, quarantined } = this.#catalog
    const different = changes.added.length + changes.changed.length + changes.removed.length > 0
    if (different && this.#following) this.#log.info({ ...changes }, 'the skills changed')
    if (this.#tell(quarantined) || different) {
      this.#bus.emit('skills', { skills: size, quarantined: quarantined.length, ...changes })
    }
    return different
  }

  /** Indexes the catalog. A change during the indexing is in the catalog at once, and is indexed next. */
  #index (): Promise<void> {
    this.#stale = true
    return this.#indexing ??= (async () => {
      try {
        while (this.#stale && !this.#closed.signal.aborted) {
          this.#stale = false
          await this.#search?.index(this.#catalog.skills)
        }
      } finally {
        this.#indexing = undefined
      }
    })()
  }

  /** Logs the skills that are newly broken. @returns whether the set of broken skills changed */
  #tell (quarantined: readonly QuarantinedSkill[]): boolean {
    const reported = new Set<string>()
    let news = false
    for (const { tool, path, error, serving = false } of quarantined) {
      const line = `${path}\0${error}`
      reported.add(line)
      if (this.#reported.has(line)) continue
      news = true
      const message = tool === undefined
        ? 'a skill could not be loaded'
        : 'a tool could not be loaded; the others of its skill serve'
      this.#log.warn(
        { path, error },
        serving ? 'a skill is broken; its last version without a fault goes on serving' : message
      )
    }
    const fewer = reported.size < this.#reported.size
    this.#reported = reported
    return news || fewer
  }
}
