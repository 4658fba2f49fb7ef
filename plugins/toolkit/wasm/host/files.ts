import {
  closeSync, constants, fstatSync, ftruncateSync, futimesSync, linkSync, mkdirSync, openSync, readdirSync, readlinkSync,
  readSync, renameSync, rmdirSync, statSync, symlinkSync, unlinkSync, writeSync, type BigIntStats
} from 'node:fs'
import { resolvePath, type Resolved } from './resolve-path.ts'
import { ask, WasiError } from './wasi-error.ts'

/** A folder that a program may use. */
export interface Preopen {
  /** Its name for the program. */
  guest: string
  /** Its absolute path, without symbolic links. */
  host: string
  writable: boolean
}

/** The most files that a program may have open. */
const openMax = 256
/** The most entries of a folder that are listed. */
const entriesMax = 100_000

/** How a file is opened. */
export interface Opening {
  follow: boolean
  create: boolean
  directory: boolean
  exclusive: boolean
  truncate: boolean
  read: boolean
  write: boolean
}

/** An open folder. It is known by its path alone. */
export class OpenFolder {
  readonly path: string
  readonly writable: boolean

  constructor (path: string, writable: boolean) {
    this.path = path
    this.writable = writable
  }

  stat (): BigIntStats {
    return ask(() => statSync(this.path, { bigint: true }))
  }

  /** The names and kinds of its entries. @throws WasiError */
  entries (): { name: string, stats: BigIntStats | undefined }[] {
    const names = ask(() => readdirSync(this.path))
    if (names.length > entriesMax) throw new WasiError('overflow')
    return names.map(name => ({ name, stats: resolvePath(this.path, name, false).stats }))
  }

  /** @throws WasiError */
  find (path: string, follow: boolean): Resolved & { stats: BigIntStats } {
    const { stats, ...found } = resolvePath(this.path, path, follow)
    if (stats === undefined) throw new WasiError('no-entry')
    if (found.folder && !stats.isDirectory()) throw new WasiError('not-directory')
    return { ...found, stats }
  }

  /** Where something is to be changed. @throws WasiError where nothing may be */
  #change (path: string, follow = false): Resolved {
    if (!this.writable) throw new WasiError('read-only')
    return resolvePath(this.path, path, follow)
  }

  makeFolder (path: string): void {
    const found = this.#change(path)
    ask(() => mkdirSync(found.path))
  }

  removeFolder (path: string): void {
    const found = this.#change(path)
    if (found.path === this.path) throw new WasiError('invalid')
    ask(() => { rmdirSync(found.path) })
  }

  removeFile (path: string): void {
    const { stats, folder, path: place } = this.#change(path)
    if (stats?.isDirectory() === true) throw new WasiError('is-directory')
    if (folder) throw new WasiError(stats === undefined ? 'no-entry' : 'not-directory')
    ask(() => { unlinkSync(place) })
  }

  rename (path: string, to: OpenFolder, toPath: string): void {
    const [from, target] = [this.#change(path), to.#change(toPath)]
    if (from.path === this.path || target.path === to.path) throw new WasiError('invalid')
    if (from.folder && from.stats?.isDirectory() === false) throw new WasiError('not-directory')
    ask(() => { renameSync(from.path, target.path) })
  }

  link (path: string, follow: boolean, to: OpenFolder, toPath: string): void {
    const [from, target] = [this.#change(path, follow), to.#change(toPath)]
    ask(() => { linkSync(from.path, target.path) })
  }

  /** Makes a symbolic link. Nothing checks where it leads before it is followed, but it can't be absolute. */
  symlink (target: string, path: string): void {
    if (target.startsWith('/')) throw new WasiError('not-permitted')
    if (target === '' || target.includes('\0')) throw new WasiError('invalid')
    const found = this.#change(path)
    if (found.folder) throw new WasiError('no-entry')
    ask(() => { symlinkSync(target, found.path) })
  }

  readlink (path: string): string {
    const found = this.find(path, false)
    if (!found.stats.isSymbolicLink()) throw new WasiError('invalid')
    return ask(() => readlinkSync(found.path))
  }

  /** Sets times, in seconds since 1970. */
  setTimes (path: string, follow: boolean, accessed_s: number, changed_s: number): void {
    if (!this.writable) throw new WasiError('read-only')
    const found = this.find(path, follow)
    if (!found.stats.isFile() && !found.stats.isDirectory()) throw new WasiError('unsupported')
    const fd = ask(() => openSync(found.path, constants.O_RDONLY | constants.O_NOFOLLOW))
    try {
      ask(() => { futimesSync(fd, accessed_s, changed_s) })
    } finally {
      closeSync(fd)
    }
  }
}

/** An open file. */
export class OpenFile {
  readonly fd: number
  readonly readable: boolean
  readonly writable: boolean
  closed = false

  constructor (fd: number, readable: boolean, writable: boolean) {
    this.fd = fd
    this.readable = readable
    this.writable = writable
  }

  stat (): BigIntStats {
    return ask(() => fstatSync(this.fd, { bigint: true }))
  }

  /** @returns how many bytes there were; 0 at the end */
  read (into: Uint8Array, position: number): number {
    if (!this.readable) throw new WasiError('bad-descriptor')
    return into.length === 0 ? 0 : ask(() => readSync(this.fd, into, 0, into.length, position))
  }

  write (bytes: Uint8Array, position: number): number {
    this.#refuseReadOnly()
    return bytes.length === 0 ? 0 : ask(() => writeSync(this.fd, bytes, 0, bytes.length, position))
  }

  setSize (bytes: number): void {
    this.#refuseReadOnly()
    ask(() => { ftruncateSync(this.fd, bytes) })
  }

  setTimes (accessed_s: number, changed_s: number): void {
    this.#refuseReadOnly()
    ask(() => { futimesSync(this.fd, accessed_s, changed_s) })
  }

  #refuseReadOnly (): void {
    if (!this.writable) throw new WasiError('bad-descriptor')
  }
}

/** What one run of a program has open. */
export class Files {
  readonly #open = new Set<OpenFile>()
  readonly preopens: readonly { guest: string, folder: OpenFolder }[]

  constructor (preopens: readonly Preopen[]) {
    this.preopens = preopens.map(({ guest, host, writable }) => ({ guest, folder: new OpenFolder(host, writable) }))
  }

  /** Opens a regular file or a folder; nothing else, since a pipe would wait, and a device may do anything. */
  open (folder: OpenFolder, path: string, opening: Opening): OpenFile | OpenFolder {
    const { create, directory, exclusive, truncate, read, write, follow } = opening
    const { path: place, stats, folder: named } = resolvePath(folder.path, path, follow && !exclusive)
    if (!folder.writable && (truncate || write || (create && stats === undefined))) throw new WasiError('read-only')
    if (stats === undefined && !create) throw new WasiError('no-entry')
    if (stats !== undefined && create && exclusive) throw new WasiError('exist')
    if (stats?.isDirectory() === true) {
      if (truncate || write) throw new WasiError('is-directory')
      return new OpenFolder(place, folder.writable)
    }
    if (directory || named) throw new WasiError(stats === undefined ? 'no-entry' : 'not-directory')
    if (stats?.isSymbolicLink() === true) throw new WasiError('loop')
    if (stats?.isFile() === false) throw new WasiError('not-permitted')
    if (this.#open.size >= openMax) throw new WasiError('quota')
    const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants
    const flags = (write || truncate ? read ? O_RDWR : O_WRONLY : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK
      | (create ? O_CREAT : 0) | (exclusive ? O_EXCL : 0) | (truncate ? O_TRUNC : 0)
    const file = new OpenFile(ask(() => openSync(place, flags, 0o666)), read || !write, write)
    this.#open.add(file)
    return file
  }

  close (file: OpenFile): void {
    if (file.closed) return
    file.closed = true
    this.#open.delete(file)
    ask(() => { closeSync(file.fd) })
  }

  closeAll (): void {
    for (const file of this.#open) this.close(file)
  }
}
