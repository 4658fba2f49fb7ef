import { isDeepStrictEqual } from 'node:util'
import type { LoadedSkills, QuarantinedSkill, SkillDefinition } from '../../../kernel/index.ts'
import type { Describing } from '../descriptions/skill-descriptions.ts'
import type { Listing, Looked } from '../listing/list.ts'
import { listPlace, type Place } from '../listing/places.ts'
import type { Interpreters } from '../descriptions/interpreters.ts'
import type { Described, DescribedSkill, Fault, Folder } from '../shared/protocol.ts'
import { stampOf } from '../listing/revision.ts'

/** A version of a skill, as its folder was at one moment. */
interface Version extends Omit<Described, 'skill'> { skill: SkillDefinition }

/** An entry of a skills directory over time. */
interface Entry {
  looked: Looked
  /** Differs whenever what is there, or in the files elsewhere that it was made of, may. */
  key: string
  /** The files elsewhere that were read, or looked for, when it was described last. */
  outside: readonly string[]
  /** What is there now, once it was described; neither where nothing is a skill. */
  version: Version | undefined
  fault: Fault | undefined
  /** The key of what was last believed. */
  believed: string | undefined
  /** What serves: the last version that was believed and had no fault, nor broke a tool of the one before. */
  good: Version | undefined
  /** The faults that are told: of the skill, or of tools that would serve no more. */
  told: readonly QuarantinedSkill[]
  /** A change for the worse, believed when it is still the same at this time (performance.now()). */
  pending: { key: string, until_ms: number } | undefined
}

/** Which entries may have changed: places and names in them. */
export type Dirty = ReadonlyMap<Place, ReadonlySet<string>>

export interface LibraryOptions {
  places: readonly Place[]
  describing: Describing
  interpreters: Interpreters
  /** How long listing a directory may take. */
  list_ms: number
  /** How long a change for the worse must stay before it is believed. */
  patience_ms: number
  /** How long loading, or a change, waits for folders to be read: those that take longer follow. */
  wait_ms: number
}

/** The key of an entry whose folder is being read, though nobody waits for it: there is nothing that is known of it. */
const unread = 'unread'

interface Shelf { place: Place, listing: Listing, entries: Map<string, Entry> }

/**
 * The skills of all places: later places shadow earlier ones of the same name, be they broken or not, so that a skill that
 * can't be loaded is not replaced by another in silence. A skill that was good and is changed to something broken goes on
 * serving as it was; the fault is told once it has stayed for a while, since it may be half of a save.
 */
export class Library {
  readonly #options: LibraryOptions
  #shelves: Shelf[] = []
  #loaded: LoadedSkills = { skills: [], quarantined: [], warnings: [] }

  constructor (options: LibraryOptions) {
    this.#options = options
  }

  /** What was loaded last. */
  get loaded (): LoadedSkills {
    return this.#loaded
  }

  get shelves (): readonly { place: Place, listing: Listing, outside: (name: string) => readonly string[] }[] {
    return this.#shelves.map(({ place, listing, entries }) => ({
      place, listing, outside: name => entries.get(name)?.version?.outside ?? entries.get(name)?.good?.outside ?? []
    }))
  }

  /** The entries at fault whose files elsewhere are not as they were: those may not have been there, so that nothing could watch them. */
  async mendable (): Promise<Dirty> {
    const found = new Map<Place, Set<string>>()
    for (const { place, entries } of this.#shelves) {
      for (const [name, { looked, key, fault, outside }] of entries) {
        if (fault !== undefined && key !== unread && outside.length > 0 && await keyOf(looked, outside) !== key) mark(found, place, name)
      }
    }
    return found
  }

  /** Calls back with an entry whose folder was read after nobody waited for it any more: it is to be looked at. */
  whenRead (listener: (place: Place, name: string) => void): void {
    this.#options.describing.read = path => {
      for (const { place, entries } of this.#shelves) for (const [name, { looked }] of entries) if (looked?.path === path) listener(place, name)
    }
  }

  /** The entries whose folders are still being read. */
  get unread (): Dirty {
    const found = new Map<Place, Set<string>>()
    for (const { place, entries } of this.#shelves) for (const [name, { key }] of entries) if (key === unread) mark(found, place, name)
    return found
  }

  /**
   * Reads everything anew and takes it as it is. Rejects only with the signal's reason.
   * @param only reads what can be the skill of this name, and nothing else
   */
  async load (signal: AbortSignal, only?: string): Promise<LoadedSkills> {
    await this.#list(undefined, signal, only)
    await this.#settle(undefined, signal)
    return this.#loaded
  }

  /**
   * Reads what may have changed.
   * @param dirty all where absent
   * @returns which entries did, and those to look at again, after how many milliseconds. Rejects only with the signal's reason.
   */
  async refresh (dirty: Dirty | undefined, signal: AbortSignal): Promise<{ changed: Dirty, again: Dirty, again_ms: number, different: boolean }> {
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

  /** Lists the places and finds the entries that are not as they were. What was known is forgotten where `dirty` is absent. */
  async #list (dirty: Dirty | 'all' | undefined, signal: AbortSignal, only?: string): Promise<Dirty> {
    const changed = new Map<Place, Set<string>>()
    const before = new Map(dirty === undefined ? [] : this.#shelves.map(shelf => [shelf.place.path, shelf]))
    this.#shelves = await Promise.all(this.#options.places.map(async place => {
      const old = before.get(place.path)
      const known = old === undefined || dirty === undefined || dirty === 'all' ? undefined : { listing: old.listing, changed: dirty.get(place) ?? new Set<string>() }
      const listing = await listPlace(place, this.#options.list_ms, signal, { known, only })
      const entries = new Map<string, Entry>()
      for (const [name, looked] of listing.entries) {
        const entry = old?.entries.get(name)
        const seldom = known !== undefined && entry !== undefined && !known.changed.has(name)
        const key = seldom ? entry.key : await keyOf(looked, entry?.outside ?? [])
        if (entry !== undefined) entries.set(name, entry)
        if (entry?.key === key && (dirty !== 'all' || await this.#isWhole(entry))) continue
        if (entry?.key !== unread) mark(changed, place, name)
        const fault = looked !== undefined && 'error' in looked ? looked : undefined
        entries.set(name, { outside: [], believed: undefined, good: undefined, told: [], pending: undefined, ...entry, looked, key, version: undefined, fault })
      }
      for (const name of old?.entries.keys() ?? []) if (!entries.has(name)) mark(changed, place, name)
      return { place, listing, entries }
    }))
    return changed
  }

  /** Whether what an entry serves is still in the cache. */
  async #isWhole ({ good }: Entry): Promise<boolean> {
    return good?.skill.module === undefined || await this.#options.describing.keep(good.skill.module)
  }

  /** Describes what is to be served and puts it together. @param now_ms absent: everything is believed at once */
  async #settle (now_ms: number | undefined, signal: AbortSignal): Promise<void> {
    const { describing, interpreters, patience_ms, wait_ms } = this.#options
    const until_ms = performance.now() + wait_ms
    const trusts = await describing.trustedPaths()
    for (;;) {
      // A folder that another one shadows is described when that one goes, or turns out to be broken and not yet believed.
      const all = this.#shelves.flatMap(shelf => [...shelf.entries.values()])
      for (const entry of all) if (isKnown(entry)) believe(entry, now_ms, patience_ms)
      const todo = this.#winners().filter(({ entry }) => !isKnown(entry))
      if (todo.length === 0) break
      const folders = todo.map(({ entry }) => entry.looked as Folder) // a fault is known
      const described = await describing.describe(folders, signal, { lasting: now_ms !== undefined, wait_ms: until_ms - performance.now() })
      for (const [i, found] of described.entries()) {
        const [one, folder] = [todo[i], folders[i]]
        if (one === undefined || folder === undefined) continue
        const { entry, shelf } = one
        if ('error' in found) {
          const { name, path, error } = found
          entry.fault = { name, path, error }
          entry.outside = found.outside ?? entry.outside
          entry.key = 'unread' in found ? unread : await keyOf(folder, entry.outside)
        }
        else {
          // Said here, and not by the thread in which code of skills runs.
          const trusted = shelf.place.bundled || trusts(folder.real_path)
          const { tools, warnings } = await interpreters.choose(folder, found.skill.tools)
          const skill = { ...found.skill, name: folder.name, directory: folder.path, trusted, tools }
          entry.version = { ...found, skill: withDigest(skill, found.skill), warnings: [...found.warnings, ...warnings] }
          entry.outside = found.outside
          entry.key = await keyOf(folder, found.outside)
        }
      }
    }
    const loaded = this.#together()
    if (!isSame(loaded, this.#loaded)) this.#loaded = loaded
  }

  /** The entries that serve, are at fault or must be described to tell, without those that are shadowed. */
  #winners (): { entry: Entry, shelf: Shelf }[] {
    const winners = new Map<string, { entry: Entry, shelf: Shelf }>()
    for (const shelf of this.#shelves) {
      for (const entry of shelf.entries.values()) {
        const name = nameOf(entry)
        if (name === undefined) continue
        winners.delete(name) // for the order: later places last
        winners.set(name, { entry, shelf })
      }
    }
    return [...winners.values()]
  }

  #together (): LoadedSkills {
    const loaded: Required<LoadedSkills> = { skills: [], quarantined: [], warnings: [] }
    for (const { place, listing } of this.#shelves) {
      if (listing.real_path !== undefined || place.named) loaded.quarantined.push(...listing.faults)
    }
    for (const { entry: { good, told } } of this.#winners()) {
      const serves = ({ tool }: QuarantinedSkill): boolean => good !== undefined && (tool === undefined || good.skill.tools.some(({ name }) => name === tool))
      loaded.quarantined.push(...told.map(fault => ({ ...fault, ...(serves(fault) && { serving: true }) })))
      if (good === undefined) continue
      loaded.quarantined.push(...good.broken.filter(({ tool }) => !told.some(fault => fault.tool === tool)))
      loaded.skills.push(good.skill)
      loaded.warnings.push(...good.warnings)
    }
    return loaded
  }
}

/** With a digest of all of it, where the thread's still says that; else without, and the kernel compares it. */
function withDigest ({ digest, ...skill }: SkillDefinition, described: DescribedSkill): SkillDefinition {
  if (digest === undefined || skill.tools.some((tool, i) => tool !== described.tools[i])) return skill
  return { ...skill, digest: `${digest} ${skill.trusted ? 'trusted' : ''} ${skill.directory}` }
}

/** Whether the same skills are loaded: one that was described anew counts as another, which the kernel compares. */
function isSame (a: LoadedSkills, b: LoadedSkills): boolean {
  const { skills: skillsA, ...restA } = a
  const { skills: skillsB, ...restB } = b
  return skillsA.length === skillsB.length && skillsA.every((skill, i) => skill === skillsB[i]) && isDeepStrictEqual(restA, restB)
}

/** The name under which an entry is a skill, or is broken. Undefined while it is neither, or not yet believed to be broken. */
function nameOf (entry: Entry): string | undefined {
  if (entry.good !== undefined) return entry.good.skill.name
  if (isKnown(entry) && entry.believed !== entry.key) return entry.told[0]?.name
  return entry.looked?.name
}

function isKnown ({ looked, version, fault }: Entry): boolean {
  return looked === undefined || version !== undefined || fault !== undefined
}

/** Takes over what was found; what is worse than before only when it has stayed. */
function believe (entry: Entry, now_ms: number | undefined, patience_ms: number): void {
  const { key, version, good, pending } = entry
  if (entry.believed === key) return
  // A manifest or module that is gone for a moment can make another kind of skill of the folder.
  const worse = version === undefined || (good !== undefined && (good.skill.runtime !== version.skill.runtime || breaks(version, good)))
  if (worse && now_ms !== undefined) {
    if (pending?.key !== key) entry.pending = { key, until_ms: now_ms + patience_ms }
    if (entry.pending !== undefined && now_ms < entry.pending.until_ms) return
  }
  entry.believed = key
  entry.pending = undefined
  const broke = version !== undefined && good !== undefined && breaks(version, good)
  entry.told = entry.fault !== undefined ? [entry.fault] : broke ? version.broken : []
  if (entry.fault === undefined && !broke) entry.good = version
}

/** Whether a tool that serves would serve no more for a fault of its own. */
function breaks (version: Version, { skill }: Version): boolean {
  return skill.runtime === version.skill.runtime && version.broken.some(({ tool }) => skill.tools.some(({ name }) => name === tool))
}

async function keyOf (looked: Looked, outside: readonly string[]): Promise<string> {
  if (looked === undefined) return 'nothing'
  if ('error' in looked) return `fault ${looked.error}`
  return outside.length === 0 ? looked.revision : `${looked.revision} ${await stampOf(outside)}`
}

function mark (dirty: Map<Place, Set<string>>, place: Place, name: string): void {
  const names = dirty.get(place)
  if (names === undefined) dirty.set(place, new Set([name]))
  else names.add(name)
}
