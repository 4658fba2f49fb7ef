import type { Bus } from './bus.ts'
import type { Catalog } from './catalog.ts'
import type { LoadedSkills, Search, SkillSource } from './contracts.ts'
import { messageOf } from './errors.ts'
import type { Logger } from './log.ts'
import type { QuarantinedSkill } from './schemas.ts'
import { Scope } from './scope.ts'

/** Loads the catalog and the search index from the sources, and keeps both true while sources change. */
export class Feed {
  readonly #catalog: Catalog
  readonly #sources: readonly SkillSource[]
  readonly #bus: Bus
  readonly #log: Logger
  readonly #scope = new Scope()
  readonly #closed = new AbortController()
  #following = false
  /** What each source gave last. */
  readonly #loaded = new Map<SkillSource, LoadedSkills>()
  /** Sources that said they would give something else. */
  readonly #changed = new Set<SkillSource>()
  /** The lines about broken skills that the log has. */
  #told: ReadonlySet<string> = new Set()
  /** Whether the search knows other skills than the catalog. */
  #stale = false
  #indexing: Promise<void> | undefined
  #reloading: Promise<void> | undefined

  /** What knows the skills too, once it is there. */
  #search: Search | undefined

  constructor (catalog: Catalog, sources: readonly SkillSource[], bus: Bus, log: Logger) {
    this.#catalog = catalog
    this.#sources = sources
    this.#bus = bus
    this.#log = log
  }

  /**
   * Loads all sources. Rejects with what any of them threw.
   * @param only the name of the one skill that is asked for; where there is none, all are loaded, for what is said of it
   */
  async load (signal: AbortSignal, only?: string): Promise<void> {
    await Promise.all(this.#sources.map(async source => { this.#loaded.set(source, await source.load(signal, only)) }))
    this.#publish()
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
    for (const source of this.#sources) {
      const stop = source.watch?.(() => {
        this.#changed.add(source)
        this.#reloading ??= this.#reload().finally(() => { this.#reloading = undefined })
      })
      if (stop !== undefined) this.#scope.defer(stop)
    }
  }

  /** Resolves when nothing is loaded any more. */
  async close (): Promise<void> {
    this.#closed.abort(new Error('the kernel is stopping'))
    await this.#scope.close()
    await this.#reloading
    await this.#indexing?.catch(() => {}) // it was logged
  }

  /** A source or a search that fails is logged; what it gave last stays. */
  async #reload (): Promise<void> {
    await new Promise(resolve => { setImmediate(resolve) }) // what one turn of the event loop brings is one change
    while (this.#changed.size > 0 && !this.#closed.signal.aborted) {
      const changed = [...this.#changed]
      this.#changed.clear()
      try {
        for (const source of changed) this.#loaded.set(source, await source.load(this.#closed.signal))
        if (!this.#publish()) continue
        this.#index().catch((error: unknown) => { this.#log.error({ error: messageOf(error) }, 'the search does not know the present skills') })
      } catch (error) {
        if (!this.#closed.signal.aborted) this.#log.error({ error: messageOf(error) }, 'the skills could not be reloaded')
      }
    }
  }

  /** @returns whether the skills are others than before */
  #publish (): boolean {
    const changes = this.#catalog.replace(this.#sources.flatMap(source => this.#loaded.get(source) ?? []))
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
    for (const { path, error, serving = false } of quarantined) {
      const line = `${path}\0${error}`
      told.add(line)
      if (this.#told.has(line)) continue
      news = true
      this.#log.warn({ path, error }, serving ? 'a skill is broken; its last version without a fault goes on serving' : 'a skill could not be loaded')
    }
    const fewer = told.size < this.#told.size
    this.#told = told
    return news || fewer
  }
}
