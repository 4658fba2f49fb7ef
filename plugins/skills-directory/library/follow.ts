import { stat } from 'node:fs/promises'
import { messageOf, Scope, type Logger, type PluginContext } from '../../../kernel/index.ts'
import type { Dirty } from './dirty.ts'
import type { Library } from './library.ts'
import { identityOf } from '../listing/list.ts'
import type { Place } from '../listing/places.ts'
import { Watchers, type OpenWatcher } from './watchers.ts'

/** The time without further changes before a change is read, and the maximum of that wait, in milliseconds. */
const settle_ms = { quiet: 150, most: 2_000 }
/**
 * The time after which a change is read again, in milliseconds: files may be added after a new folder is read and
 * before it is watched.
 */
const echo_ms = 1_000
/**
 * How often all entries are checked for changes without events, and how often where there are no events, in
 * milliseconds.
 */
const rescan_ms = { events: 60_000, polling: 2_000 }
/** The time from the end of a look for what no event reports to the beginning of the next look, in milliseconds. */
const seek_ms = 1_000
/**
 * The number of files elsewhere that such a look checks, at most: 1,000 take about 60 ms. A faulty skill rarely has
 * more than a few dozen, and all are checked with the other entries as well (`rescan_ms`).
 */
const seekFilesMax = 1_000
/** After a check, the next one waits as long as that check took, and at most this long, in milliseconds. */
const restMax_ms = 5_000

export interface FollowOptions {
  library: Library
  /** Called when the library has other skills than before. */
  changed: () => void
  /** `off`: only the folders that were still being read at the library's load are added later. */
  mode: 'events' | 'polling' | 'off'
  open?: OpenWatcher
  /** See WatchersOptions. */
  again_ms?: number
  log: Logger
  health: PluginContext['health']
}

/**
 * Keeps a library up to date. Events of the file system show which entries to check, and the files there show whether
 * they changed. Events are collected until they pause; where events fail, all entries are checked periodically.
 */
export class Follow {
  readonly #options: FollowOptions
  readonly #scope = new Scope()
  readonly #stopped = new AbortController()
  readonly #watchers: Watchers
  #polling: boolean
  /** The entries to check; undefined means all entries. */
  #dirty: Map<Place, Set<string>> | undefined = new Map()
  #due = false
  /** The time (performance.now()) of the first collected event. */
  #since_ms: number | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #timers = new Set<NodeJS.Timeout>()
  #rescanTimer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  /** The earliest time of the next check (performance.now()). */
  #rest_ms = 0

  constructor (options: FollowOptions) {
    this.#options = options
    this.#polling = options.mode === 'polling'
    this.#watchers = new Watchers({
      ...(options.open !== undefined && { open: options.open }),
      ...(options.again_ms !== undefined && { again_ms: options.again_ms }),
      log: options.log,
      hint: (place, name) => { this.#hint(place, name) },
      failed: (reason, again_ms) => { this.#poll(reason, again_ms) },
      works: () => { this.#watchAgain() }
    })
    this.#scope.defer(() => this.#watchers.close())
    options.library.whenRead((place, name) => { this.#hint(place, name) })
    if (options.mode === 'off') this.#hintAll(options.library.unread)
    else this.#lookAround()
  }

  /** Checks the entries that may have changed, according to events or after a time. */
  #lookAround (): void {
    this.#scope.defer(() => {
      clearTimeout(this.#rescanTimer)
      for (const timer of this.#timers) clearTimeout(timer)
    })
    this.#seekLater()
    this.#rescan()
    this.#watch()
    this.#everywhere() // finds the changes since the library was loaded
  }

  /** Resolves when no folder is being read any more. */
  async close (): Promise<void> {
    this.#stopped.abort(new Error('the skills are not followed any more'))
    clearTimeout(this.#timer)
    await this.#scope.close()
    await this.#running
  }

  #hint (place: Place, name: string | undefined): void {
    const names = this.#dirty?.get(place) ?? new Set()
    this.#dirty?.set(place, names)
    if (name !== undefined) names.add(name)
    this.#wait(settle_ms.quiet)
  }

  #everywhere (): void {
    this.#dirty = undefined
    this.#wait(settle_ms.quiet)
  }

  /** Runs a check after a time, or later if more events arrive meanwhile. */
  #wait (ms: number): void {
    if (this.#stopped.signal.aborted) return
    const now = performance.now()
    this.#since_ms ??= now
    this.#due = true
    if (this.#running !== undefined) return // the running check starts the next one at its end
    const at_ms = Math.max(Math.min(now + ms, this.#since_ms + settle_ms.most), this.#rest_ms)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#running = this.#run().finally(() => {
        this.#running = undefined
        if (this.#due) this.#wait(settle_ms.quiet)
      })
    }, at_ms - now)
  }

  async #run (): Promise<void> {
    const dirty = this.#dirty
    this.#dirty = new Map()
    this.#due = false
    this.#since_ms = undefined
    const { library, changed, log } = this.#options
    const began_ms = performance.now()
    try {
      const result = await library.refresh(dirty, this.#stopped.signal)
      if (result.different) changed()
      this.#watch()
      if (result.again.size > 0) this.#later(result.again_ms, () => { this.#hintAll(result.again) })
      if (result.changed.size > 0) this.#later(echo_ms, () => { this.#hintAll(result.changed) })
    } catch (error) {
      if (!this.#stopped.signal.aborted) {
        log.error({ error: messageOf(error) }, 'the skills directories could not be looked at')
      }
    }
    const now_ms = performance.now()
    this.#rest_ms = now_ms + Math.min(now_ms - began_ms, restMax_ms)
  }

  #later (ms: number, work: () => void): void {
    if (this.#stopped.signal.aborted) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      work()
    }, ms).unref()
    this.#timers.add(timer)
  }

  #hintAll (dirty: Dirty): void {
    for (const [place, names] of dirty) for (const name of names) this.#hint(place, name)
  }

  #watch (): void {
    if (this.#options.mode !== 'events' || this.#stopped.signal.aborted) return
    this.#watchers.follow(this.#options.library.shelves)
  }

  /** Looks again and again, each time after the look before has ended: a look may last, as in a slow network folder. */
  #seekLater (): void {
    this.#later(seek_ms, () => { void this.#seek().finally(() => { this.#seekLater() }) })
  }

  /**
   * Checks whether a directory can be read again or was replaced by another one, and whether missing files of faulty
   * skills exist now: no event reports that these are created or replaced. The trust file is looked at as well. Never
   * rejects.
   */
  async #seek (): Promise<void> {
    for (const { place, listing } of this.#options.library.shelves) {
      const identity = await stat(place.path).then(identityOf, () => undefined)
      if (listing.unreadable || identity !== listing.identity) this.#hint(place, undefined)
    }
    if (await this.#options.library.trustIsStale()) this.#everywhere()
    this.#hintAll(await this.#options.library.mendable(seekFilesMax, this.#stopped.signal))
  }

  #rescan (): void {
    clearTimeout(this.#rescanTimer)
    if (this.#stopped.signal.aborted) return
    this.#rescanTimer = setTimeout(() => {
      this.#everywhere()
      this.#rescan()
    }, this.#polling ? rescan_ms.polling : rescan_ms.events).unref()
  }

  #poll (reason: string, again_ms: number): void {
    if (this.#stopped.signal.aborted) return
    const { health, log } = this.#options
    health.degrade(`changes of skills are found by looking every ${rescan_ms.polling / 1000} s: ${reason}`)
    log.warn(
      { reason, again_ms }, 'the skills directories can\'t be watched; they are looked at again and again instead'
    )
    this.#polling = true
    this.#everywhere()
    this.#rescan()
  }

  #watchAgain (): void {
    if (this.#stopped.signal.aborted) return
    this.#polling = false
    this.#options.health.recover()
    this.#options.log.info({}, 'the skills directories are watched again')
    this.#everywhere() // finds what changed before the watchers began
    this.#rescan()
  }
}
