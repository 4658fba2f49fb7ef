import type { Bus } from '../contracts/bus.ts'
import type { Catalog } from './catalog.ts'
import type { Search } from '../contracts/search.ts'
import type { LoadedSkills, SkillSource } from '../contracts/skill-source.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { inTurns } from '../lib/pauses.ts'
import type { QuarantinedSkill } from '../contracts/schemas.ts'
import { Scope } from '../lib/scope.ts'

/** After how long a source that failed is asked again, in milliseconds: twice as long each time, up to the most. */
const retry_ms = { first: 500, most: 60_000 }

/** A source, and how it is doing. */
interface Feeding {
  readonly source: SkillSource
  /** What it gave last. */
  loaded: LoadedSkills | undefined
  /** It said that it would give something else, or failed when it was asked. */
  changed: boolean
  loading: Promise<void> | undefined
  /** How often in a row it has failed. */
  failures: number
  retry: NodeJS.Timeout | undefined
}

/** Loads the catalog and the search index from the sources, and keeps both true while sources change. */
export class CatalogSync {
  readonly #catalog: Catalog
  readonly #feedings: readonly Feeding[]
  readonly #bus: Bus
  readonly #log: Logger
  readonly #scope = new Scope()
  readonly #closed = new AbortController()
  #following = false
  /** The lines about broken skills that the log has. */
  #told: ReadonlySet<string> = new Set()
  /** Whether a source gave something that the catalog does not have yet. */
  #unpublished = false
  #publishing: Promise<void> | undefined
  /** Whether the search knows other skills than the catalog. */
  #stale = false
  #indexing: Promise<void> | undefined

  /** What knows the skills too, once it is there. */
  #search: Search | undefined

  constructor (catalog: Catalog, sources: readonly SkillSource[], bus: Bus, log: Logger) {
    this.#catalog = catalog
    this.#feedings = sources.map(source => ({ source, loaded: undefined, changed: false, loading: undefined, failures: 0, retry: undefined }))
    this.#bus = bus
    this.#log = log
  }

  /**
   * Loads all sources. Rejects with what any of them threw.
   * @param only the name of the one skill that is asked for; where there is none, all are loaded, for what is said of
   * it
   */
  async load (signal: AbortSignal, only?: string): Promise<void> {
    await Promise.all(this.#feedings.map(async feeding => { feeding.loaded = await feeding.source.load(signal, only) }))
    await this.#publish()
    if (only !== undefined && !this.#catalog.skills.some(({ name }) => name === only)) await this.load(signal)
  }

  /** Lets a search know the skills, now and whenever they change. Rejects with what it threw. */
  async index (search: Search): Promise<void> {
    this.#search = search
    await this.#index()
  }

  /** Loads each source again when it changes; changes that come while that is done are gathered. Until `close`. */
  follow (): void {
    this.#following = true
    for (const feeding of this.#feedings) {
      const stop = feeding.source.watch?.(() => { this.#reload(feeding) })
      if (stop !== undefined) this.#scope.defer(stop)
    }
  }

  /** Resolves when nothing is loaded any more. */
  async close (): Promise<void> {
    this.#closed.abort(new Error('the kernel is stopping'))
    for (const { retry } of this.#feedings) clearTimeout(retry)
    await this.#scope.close()
    await Promise.all(this.#feedings.map(({ loading }) => loading))
    await this.#publishing
    await this.#indexing?.catch(() => {}) // it was logged
  }

  #reload (feeding: Feeding): void {
    clearTimeout(feeding.retry)
    feeding.changed = true
    feeding.loading ??= this.#loadAgain(feeding).finally(() => { feeding.loading = undefined })
  }

  /**
   * Each source on its own: one that fails, or takes long, keeps no change of another. What it gave last stays, and it
   * is asked again later.
   */
  async #loadAgain (feeding: Feeding): Promise<void> {
    await new Promise(resolve => { setImmediate(resolve) }) // what one turn of the event loop brings is one change
    while (feeding.changed && !this.#closed.signal.aborted) {
      feeding.changed = false
      try {
        feeding.loaded = await feeding.source.load(this.#closed.signal)
        feeding.failures = 0
        this.#unpublished = true
        this.#publishing ??= this.#publishChanges().finally(() => { this.#publishing = undefined })
      } catch (error) {
        if (this.#closed.signal.aborted) return
        const again_ms = feeding.changed ? retry_ms.first : Math.min(retry_ms.first * 2 ** feeding.failures, retry_ms.most)
        feeding.failures++
        this.#log.error({ error: messageOf(error), again_ms }, 'the skills of a source could not be reloaded; what it gave last stays')
        feeding.retry = setTimeout(() => { this.#reload(feeding) }, again_ms).unref()
        return
      }
    }
  }

  /** Never rejects. */
  async #publishChanges (): Promise<void> {
    await new Promise(resolve => { setImmediate(resolve) })
    while (this.#unpublished && !this.#closed.signal.aborted) {
      this.#unpublished = false
      try {
        if (!await this.#publish()) continue
        this.#index().catch((error: unknown) => { this.#log.error({ error: messageOf(error) }, 'the search does not know the present skills') })
      } catch (error) {
        this.#log.error({ error: messageOf(error) }, 'the skills could not be replaced')
      }
    }
  }

  /** @returns whether the skills are others than before */
  async #publish (): Promise<boolean> {
    const changes = await inTurns(this.#catalog.replace(this.#feedings.flatMap(({ loaded }) => loaded ?? [])))
    const { size, quarantined } = this.#catalog
    const different = changes.added.length + changes.changed.length + changes.removed.length > 0
    if (different && this.#following) this.#log.info({ ...changes }, 'the skills changed')
    if (this.#tell(quarantined) || different) this.#bus.emit('skills', { skills: size, quarantined: quarantined.length, ...changes })
    return different
  }

  /** Indexes what the catalog has: a change that comes meanwhile serves at once, and is indexed next. */
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

  /** Logs what is newly broken. @returns whether other skills are broken than before */
  #tell (quarantined: readonly QuarantinedSkill[]): boolean {
    const told = new Set<string>()
    let news = false
    for (const { tool, path, error, serving = false } of quarantined) {
      const line = `${path}\0${error}`
      told.add(line)
      if (this.#told.has(line)) continue
      news = true
      const what = tool === undefined ? 'a skill could not be loaded' : 'a tool could not be loaded; the others of its skill serve'
      this.#log.warn({ path, error }, serving ? 'a skill is broken; its last version without a fault goes on serving' : what)
    }
    const fewer = told.size < this.#told.size
    this.#told = told
    return news || fewer
  }
}
