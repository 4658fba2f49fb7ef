import type { LoadedSkills, SkillDefinition } from '../../../kernel/index.ts'
import type { Describing, Unread } from '../descriptions/skill-descriptions.ts'
import { listPlace, type Place } from '../listing/places.ts'
import type { SkillTrust } from '../trust/skill-trust.ts'
import { isTrusted } from '../trust/verdict.ts'
import type { Interpreters } from '../descriptions/interpreters.ts'
import type { Described, DescribedSkill, Fault, Folder } from '../shared/protocol.ts'
import { mark, type Dirty } from './dirty.ts'
import { believe, entryOf, isKnown, keyOf, unread, type Entry } from './entry.ts'
import { folderToRead, judgeEntries } from './judge.ts'
import { combine, isSame, keptShelf, unwatchableIn, winnersOf, type Shelf, type Winner } from './shelves.ts'
import { watchedShelves, type WatchedShelf } from './watched.ts'

export interface LibraryOptions {
  places: readonly Place[]
  trust: SkillTrust
  describing: Describing
  /** Whether the modules of skills that are not trusted may run in the sandbox only. */
  confines: boolean
  interpreters: Interpreters
  /** The time limit for listing a directory, in milliseconds. */
  list_ms: number
  /** How long a change for the worse must last before it is accepted, in milliseconds. */
  patience_ms: number
  /** How long a load or a refresh waits for folders to be read, in milliseconds; slower folders are added later. */
  wait_ms: number
}

/** How often a folder that changes while it is described is read again. */
const unsteadyMax = 2

/** The result of reading the entries that may have changed. */
interface Refreshed {
  /** The entries that changed. */
  changed: Dirty
  /** The entries to check again, and the delay in milliseconds. */
  again: Dirty
  again_ms: number
  /** Whether the loaded skills differ from those before. */
  different: boolean
}

/**
 * The skills of all places. Skills of later places shadow earlier skills of the same name, even when they are broken,
 * so that a skill that can't be loaded is not silently replaced by another one. A good skill that becomes broken
 * continues to serve its earlier version; the fault is reported only after it has lasted for a while, since the author
 * may be in the middle of saving.
 */
export class Library {
  readonly #options: LibraryOptions
  #shelves: Shelf[] = []
  #loaded: LoadedSkills = { skills: [], quarantined: [], warnings: [] }
  /** How many faulty entries `mendable` has looked at in all: the next one begins behind them. */
  #looks = 0

  constructor (options: LibraryOptions) {
    this.#options = options
  }

  /** The skills of the last load or refresh. */
  get loaded (): LoadedSkills {
    return this.#loaded
  }

  /** The places, as they are to be watched. */
  get shelves (): readonly WatchedShelf[] {
    return watchedShelves(this.#shelves, this.#options.trust)
  }

  /** Whether the trust file has changed since it was read. */
  trustIsStale (): Promise<boolean> {
    return this.#options.trust.isStale()
  }

  /**
   * The entries whose files elsewhere have changed, and could not be watched: such files may not have existed before.
   * Never rejects.
   * @param files_max the number of files that are looked at, but at least those of one entry; the next call goes on
   * behind them
   * @param signal ends the look, with what was found until then
   */
  async mendable (files_max: number, signal: AbortSignal): Promise<Dirty> {
    const dirty = new Map<Place, Set<string>>()
    const faulty = unwatchableIn(this.#shelves)
    const first = this.#looks
    let left = files_max
    for (let i = 0; i < faulty.length && !signal.aborted; i++) {
      const next = faulty[(first + i) % faulty.length]
      if (next === undefined || (i > 0 && next.entry.outside.length > left)) break
      left -= next.entry.outside.length
      this.#looks++
      const { place, name, entry: { looked, key, mark: trusted, outside } } = next
      if (await keyOf(looked, outside) + trusted !== key) mark(dirty, place, name)
    }
    return dirty
  }

  /**
   * Calls back with an entry whose folder was read after its caller stopped waiting; the entry must then be refreshed.
   */
  whenRead (listener: (place: Place, name: string) => void): void {
    this.#options.describing.read = path => {
      for (const { place, entries } of this.#shelves) {
        for (const [name, { looked }] of entries) if (looked?.path === path) listener(place, name)
      }
    }
  }

  /** The entries whose folders are still being read. */
  get unread (): Dirty {
    const dirty = new Map<Place, Set<string>>()
    for (const { place, entries } of this.#shelves) {
      for (const [name, { key }] of entries) if (key === unread) mark(dirty, place, name)
    }
    return dirty
  }

  /**
   * Reads all entries again and accepts every change. Rejects only with the signal's reason.
   * @param only reads only entries that can be the skill of this name
   */
  async load (signal: AbortSignal, only?: string): Promise<LoadedSkills> {
    await this.#list(undefined, signal, only)
    await this.#settle(undefined, signal)
    return this.#loaded
  }

  /**
   * Reads the entries that may have changed. Rejects only with the signal's reason.
   * @param dirty all entries where absent
   */
  async refresh (dirty: Dirty | undefined, signal: AbortSignal): Promise<Refreshed> {
    const changed = await this.#list(dirty ?? 'all', signal)
    const before = this.#loaded
    await this.#settle(performance.now(), signal)
    const again = new Map<Place, Set<string>>()
    let until_ms = Infinity
    for (const { place, entries } of this.#shelves) {
      for (const [name, { pending }] of entries) {
        if (pending === undefined) continue
        until_ms = Math.min(until_ms, pending.until_ms)
        mark(again, place, name)
      }
    }
    return { changed, again, again_ms: Math.max(0, until_ms - performance.now()), different: before !== this.#loaded }
  }

  /** Lists the places and finds the entries that have changed. Without `dirty`, all earlier state is forgotten. */
  async #list (dirty: Dirty | 'all' | undefined, signal: AbortSignal, only?: string): Promise<Dirty> {
    const { trust } = this.#options
    const changed = new Map<Place, Set<string>>()
    const trustMoved = await trust.refresh()
    const before = new Map(dirty === undefined ? [] : this.#shelves.map(shelf => [shelf.place.path, shelf]))
    this.#shelves = await Promise.all(this.#options.places.map(async place => {
      const old = before.get(place.path)
      const previous = old === undefined || old.listing.unreadable || dirty === undefined || dirty === 'all'
        ? undefined
        : { listing: old.listing, changed: dirty.get(place) ?? new Set<string>() }
      const listing = await listPlace(place, this.#options.list_ms, signal, { previous, only })
      if (listing.unreadable && old !== undefined) return keptShelf(old, listing)
      const entries = new Map<string, Entry>()
      for (const [name, looked] of listing.entries) {
        const entry = old?.entries.get(name)
        const seldom = previous !== undefined && entry !== undefined && !previous.changed.has(name) && !trustMoved
        const trusted = seldom ? entry.mark : await trust.markOf(place, looked)
        const key = seldom ? entry.key : await keyOf(looked, entry?.outside ?? []) + trusted
        if (entry !== undefined) entries.set(name, entry)
        if (entry?.key === key && (dirty !== 'all' || await this.#isWhole(entry))) continue
        if (entry?.key !== unread) mark(changed, place, name)
        entries.set(name, entryOf(entry, looked, key, trusted))
      }
      for (const name of old?.entries.keys() ?? []) if (!entries.has(name)) mark(changed, place, name)
      return { place, listing, entries }
    }))
    return changed
  }

  /** Whether the module that an entry serves is still in the cache. */
  async #isWhole ({ good }: Entry): Promise<boolean> {
    return good?.skill.module === undefined || await this.#options.describing.keep(good.skill.module)
  }

  /**
   * Describes the entries that are to serve and combines them.
   * @param now_ms absent: every change is accepted at once
   */
  async #settle (now_ms: number | undefined, signal: AbortSignal): Promise<void> {
    const { describing, confines, patience_ms, wait_ms, trust } = this.#options
    const until_ms = performance.now() + wait_ms
    const fresh = new Set<string>()
    for (;;) {
      await judgeEntries(this.#shelves, trust)
      // A shadowed folder is described when the other folder is removed, or is broken with a fault that is not yet
      // accepted.
      const all = this.#shelves.flatMap(shelf => [...shelf.entries.values()])
      for (const entry of all) if (isKnown(entry)) believe(entry, now_ms, patience_ms)
      const todo = winnersOf(this.#shelves).filter(({ entry }) => !isKnown(entry))
      if (todo.length === 0) break
      const folders = todo.map(({ entry }) => folderToRead(entry, confines))
      const lasting = now_ms !== undefined
      const described =
        await describing.describe(folders, signal, { lasting, wait_ms: until_ms - performance.now(), fresh })
      for (const [i, description] of described.entries()) {
        const [winner, folder] = [todo[i], folders[i]]
        if (winner !== undefined && folder !== undefined) await this.#take(winner, folder, description, fresh)
      }
    }
    const loaded = combine(this.#shelves)
    if (trust.fault !== undefined) loaded.quarantined.push(trust.fault)
    if (!isSame(loaded, this.#loaded)) this.#loaded = loaded
  }

  /** Takes the description of a folder for its entry. @param fresh receives the folder if it must be read once more */
  async #take (
    { entry, shelf }: Winner, folder: Folder, description: Described | Fault | Unread, fresh: Set<string>
  ): Promise<void> {
    const { trust, interpreters } = this.#options
    if ('error' in description) {
      const { name, path, error } = description
      entry.fault = { name, path, error }
      entry.outside = description.outside ?? entry.outside
      entry.key = 'unread' in description ? unread : await keyOf(folder, entry.outside) + entry.mark
      return
    }
    const { tools, warnings } = await interpreters.choose(folder, description.skill.tools)
    const described = { ...description.skill, name: folder.name, directory: folder.path, tools }
    const verdict = entry.verdict
      && await trust.confirm(entry.verdict, folder, described, description.outside, description.read_ms ?? 0)
    if (verdict === undefined && entry.unsteady++ < unsteadyMax) {
      entry.judged = false
      entry.mark = await trust.markOf(shelf.place, folder)
      fresh.add(folder.path)
      return
    }
    entry.verdict = verdict ?? trust.unsteady(folder)
    // Decided here, and not in the thread in which code of skills runs.
    const skill = { ...described, trusted: isTrusted(entry.verdict) }
    const all = [...description.warnings, ...warnings]
    entry.version = { ...description, skill: withDigest(skill, description.skill), warnings: all }
    entry.outside = description.outside
    entry.key = await keyOf(folder, description.outside) + entry.mark
  }
}

/** The skill with a digest of all its parts, if the thread's is complete; without one, the kernel compares skills. */
function withDigest ({ digest, ...skill }: SkillDefinition, described: DescribedSkill): SkillDefinition {
  if (digest === undefined || skill.tools.some((tool, i) => tool !== described.tools[i])) return skill
  return { ...skill, digest: `${digest} ${skill.trusted ? 'trusted' : ''} ${skill.directory}` }
}
