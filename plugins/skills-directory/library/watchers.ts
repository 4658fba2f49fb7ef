import { basename, join, relative, sep } from 'node:path'
import { FSWatcher, type ChokidarOptions } from 'chokidar'
import { hasCode, messageOf, type Logger } from '../../../kernel/index.ts'
import type { Listing, Looked } from '../listing/list.ts'
import type { Place } from '../listing/places.ts'
import { countsForRevision, depthMax } from '../listing/revision.ts'

/** Opens a watcher of these paths. */
export type OpenWatcher = (paths: string[], options: ChokidarOptions) => Pick<FSWatcher, 'on' | 'close'>

export interface WatchersOptions {
  /** Opens watchers, for tests; chokidar's by default. */
  open?: OpenWatcher
  log: Logger
  /** Called when an entry of a place, or the place itself, changed. */
  hint: (place: Place, name: string | undefined) => void
  /** Called when the system provides no more watchers: none is left, and they are tried again after a time. */
  failed: (reason: string, again_ms: number) => void
  /** Called when all watchers work again. */
  works: () => void
  /** The time until watchers are tried again, in milliseconds; doubled each time, up to 128 times. Default 5,000. */
  again_ms?: number
}

/** The default time until watchers that failed are tried again, in milliseconds, and how often it doubles. */
const again = { ms: 5_000, doublings: 7 }

/** A place with its listing, the files outside it, and the entries of which every file matters. */
export interface Shelf {
  place: Place
  listing: Listing
  outside: (name: string) => readonly string[]
  whole?: (name: string) => boolean
}

/**
 * A set of paths to watch. When a folder is replaced by another one, its key changes, since the watcher of the old
 * folder gets no events of the new one.
 */
interface Wanted {
  key: string
  paths: string[]
  place: Place
  root: string
  name: string | undefined
  ignored: (path: string, isFile: boolean) => boolean
}

const common =
  { ignoreInitial: true, followSymlinks: false, ignorePermissionErrors: true, atomic: false } satisfies ChokidarOptions

/**
 * Watchers of the file system for the files that matter to skills: one for each place, deep enough to see whether a
 * folder is a skill, and one for each folder of which more files matter, or that is elsewhere. Links are never
 * followed, so that the watched tree is finite.
 */
export class Watchers {
  readonly #options: WatchersOptions
  readonly #open: OpenWatcher
  readonly #watchers = new Map<string, Pick<FSWatcher, 'close'>>()
  /** Those that are not ready yet. */
  readonly #starting = new Set<Pick<FSWatcher, 'close'>>()
  #shelves: readonly Shelf[] = []
  /** How often they have failed since they last worked. */
  #failures = 0
  /** Runs after a failure, until they are tried again. */
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor (options: WatchersOptions) {
    this.#options = options
    this.#open = options.open ?? ((paths, options) => new FSWatcher(options).add(paths))
  }

  /** Watches these places, and ends all other watchers. */
  follow (shelves: readonly Shelf[]): void {
    this.#shelves = shelves
    if (this.#closed || this.#again !== undefined) return
    const wanted = new Map(shelves.flatMap(wantedOf).map(want => [want.key, want]))
    for (const [key, watcher] of this.#watchers) {
      if (wanted.has(key)) continue
      this.#watchers.delete(key)
      this.#starting.delete(watcher)
      void watcher.close()
    }
    for (const want of wanted.values()) if (!this.#watchers.has(want.key)) this.#watch(want)
  }

  async close (): Promise<void> {
    this.#closed = true
    clearTimeout(this.#again)
    await this.#end()
  }

  async #end (): Promise<void> {
    const watchers = [...this.#watchers.values()]
    this.#watchers.clear()
    this.#starting.clear()
    await Promise.all(watchers.map(watcher => watcher.close()))
  }

  #fail (reason: string): void {
    if (this.#closed || this.#again !== undefined) return
    void this.#end()
    const { again_ms = again.ms, failed } = this.#options
    const wait_ms = again_ms * 2 ** Math.min(this.#failures++, again.doublings)
    this.#again = setTimeout(() => {
      this.#again = undefined
      this.follow(this.#shelves)
    }, wait_ms).unref()
    failed(reason, wait_ms)
  }

  #ready (watcher: Pick<FSWatcher, 'close'>): void {
    if (!this.#starting.delete(watcher) || this.#starting.size > 0 || this.#failures === 0) return
    this.#failures = 0
    this.#options.works()
  }

  #watch ({ key, paths, place, root, name, ignored }: Wanted): void {
    const { hint, log } = this.#options
    const watcher = this.#open(
      paths,
      { ...common, depth: depthMax + 1, ignored: (path, stats) => ignored(path, stats?.isFile() === true) }
    )
    this.#watchers.set(key, watcher)
    this.#starting.add(watcher)
    watcher.on('all', (_event, path) => {
      const [entry] = relative(root, path).split(sep)
      hint(place, name ?? (entry === '' || entry === '..' ? undefined : entry))
    })
    watcher.on('ready', () => {
      hint(place, name)
      this.#ready(watcher)
    })
    watcher.on('error', error => {
      if (hasCode(error, 'ENOSPC')) {
        this.#fail(`the system's limit of watched files (fs.inotify.max_user_watches) is reached: ${messageOf(error)}`)
      } else if (hasCode(error, 'EMFILE', 'ENFILE')) {
        this.#fail(`the system's limit of watchers (fs.inotify.max_user_instances) or open files is reached: ${messageOf(error)}`)
      } else {
        log.debug({ paths, error: messageOf(error) }, 'something could not be watched')
      }
    })
  }
}

function wantedOf ({ place, listing, outside, whole = () => false }: Shelf): Wanted[] {
  const root = listing.real_path
  if (root === undefined) return []
  const deep: Wanted[] = []
  for (const [name, looked] of listing.entries) {
    const files = outside(name)
    const linked = listing.linked.has(name)
    const module = isModule(looked)
    const all = whole(name)
    if (!linked && !module && !all && files.length === 0) continue
    const { real_path: folder, identity } = looked !== undefined && 'real_path' in looked
      ? looked
      : { real_path: join(root, name), identity: undefined }
    deep.push({
      key: [place.path, name, identity, folder, module, all, ...files].join('\0'),
      paths: [folder, ...files], place, name, root: folder,
      ignored: path => !all && !files.includes(path) && !countsForRevision(folder, path, module)
    })
  }
  return [{
    key: [place.path, listing.identity, root].join('\0'),
    paths: [root], place, name: undefined, root,
    ignored: (path, isFile) => {
      const [entry = '', ...below] = relative(root, path).split(sep)
      if (entry === '') return false
      if (entry.startsWith('.') || entry === 'node_modules') return true
      return below.length === 0 ? isFile : !countsForRevision(join(root, entry), path, false) || isHidden(path)
    }
  }, ...deep]
}

function isModule (looked: Looked): boolean {
  return looked !== undefined && 'module' in looked && looked.module
}

function isHidden (path: string): boolean {
  return basename(path).startsWith('.')
}
