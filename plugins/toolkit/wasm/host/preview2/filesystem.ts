import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { OpenFolder, type Files, type OpenFile } from '../files.ts'
import { WasiError, type ErrorName } from '../wasi-error.ts'
import { readingStream, StreamError, writingStream, type InputStream, type OutputStream } from './streams.ts'

/** The most bytes that one call reads. */
const readBytesMax = 1_048_576

interface Datetime { seconds: bigint, nanoseconds: number }
type NewTimestamp = { tag: 'no-change' } | { tag: 'now' } | { tag: 'timestamp', val: Datetime }
interface PathFlags { symlinkFollow?: boolean }
interface OpenFlags { create?: boolean, directory?: boolean, exclusive?: boolean, truncate?: boolean }
interface DescriptorFlags { read?: boolean, write?: boolean, mutateDirectory?: boolean }

function typeOf (stats: BigIntStats | undefined): string {
  if (stats === undefined) return 'unknown'
  if (stats.isFile()) return 'regular-file'
  if (stats.isDirectory()) return 'directory'
  if (stats.isSymbolicLink()) return 'symbolic-link'
  if (stats.isFIFO()) return 'fifo'
  if (stats.isSocket()) return 'socket'
  return stats.isBlockDevice() ? 'block-device' : 'character-device'
}

function datetimeOf (time_ns: bigint): Datetime {
  const positive = time_ns < 0n ? 0n : time_ns
  return { seconds: positive / 1_000_000_000n, nanoseconds: Number(positive % 1_000_000_000n) }
}

function describe (stats: BigIntStats) {
  return {
    type: typeOf(stats), linkCount: stats.nlink, size: stats.size,
    dataAccessTimestamp: datetimeOf(stats.atimeNs),
    dataModificationTimestamp: datetimeOf(stats.mtimeNs),
    statusChangeTimestamp: datetimeOf(stats.ctimeNs)
  }
}

function hashOf ({ dev, ino, mtimeNs }: BigIntStats) {
  const hash = createHash('sha256').update(`${dev} ${ino} ${mtimeNs}`).digest()
  return { lower: hash.readBigUInt64LE(0), upper: hash.readBigUInt64LE(8) }
}

function secondsOf (time: NewTimestamp, kept_ns: bigint): number {
  if (time.tag === 'now') return Date.now() / 1_000
  if (time.tag === 'no-change') return Number(kept_ns) / 1e9
  return Number(time.val.seconds) + time.val.nanoseconds / 1e9
}

/** An offset or a size as a number. @throws WasiError */
function numberOf (value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new WasiError('invalid')
  return Number(value)
}

/** The entries of a folder. */
export class DirectoryEntryStream {
  readonly #entries: Iterator<{ name: string, stats: BigIntStats | undefined }>

  constructor (entries: Iterable<{ name: string, stats: BigIntStats | undefined }>) {
    this.#entries = entries[Symbol.iterator]()
  }

  readDirectoryEntry (): { type: string, name: string } | undefined {
    const next = this.#entries.next()
    return next.done === true ? undefined : { type: typeOf(next.value.stats), name: next.value.name }
  }
}

/** An open file or folder of `wasi:filesystem`. */
export class Descriptor {
  readonly #files: Files
  readonly #open: OpenFile | OpenFolder

  constructor (files: Files, open: OpenFile | OpenFolder) {
    this.#files = files
    this.#open = open
  }

  get #file (): OpenFile {
    if (this.#open instanceof OpenFolder) throw new WasiError('is-directory')
    return this.#open
  }

  get #folder (): OpenFolder {
    if (this.#open instanceof OpenFolder) return this.#open
    throw new WasiError('not-directory')
  }

  readViaStream (offset: bigint): InputStream {
    return readingStream(this.#file, numberOf(offset))
  }

  writeViaStream (offset: bigint): OutputStream {
    return writingStream(this.#file, numberOf(offset))
  }

  appendViaStream (): OutputStream {
    return writingStream(this.#file, undefined)
  }

  advise (): void {}

  sync (): void {}

  syncData (): void {}

  getFlags (): DescriptorFlags {
    if (this.#open instanceof OpenFolder) return { read: true, mutateDirectory: this.#open.writable }
    return { read: this.#open.readable, write: this.#open.writable }
  }

  getType (): string {
    return typeOf(this.#open.stat())
  }

  setSize (size: bigint): void {
    this.#file.setSize(numberOf(size))
  }

  setTimes (accessed: NewTimestamp, changed: NewTimestamp): void {
    const stats = this.#open.stat()
    const times = [secondsOf(accessed, stats.atimeNs), secondsOf(changed, stats.mtimeNs)] as const
    if (this.#open instanceof OpenFolder) this.#open.setTimes('.', true, ...times)
    else this.#open.setTimes(...times)
  }

  read (length: bigint, offset: bigint): [Uint8Array, boolean] {
    const buffer = new Uint8Array(Math.min(numberOf(length), readBytesMax))
    const bytes = this.#file.read(buffer, numberOf(offset))
    return [buffer.subarray(0, bytes), bytes === 0 && buffer.length > 0]
  }

  write (bytes: Uint8Array, offset: bigint): bigint {
    return BigInt(this.#file.write(bytes, numberOf(offset)))
  }

  readDirectory (): DirectoryEntryStream {
    return new DirectoryEntryStream(this.#folder.entries())
  }

  createDirectoryAt (path: string): void {
    this.#folder.makeFolder(path)
  }

  stat () {
    return describe(this.#open.stat())
  }

  statAt ({ symlinkFollow = false }: PathFlags, path: string) {
    return describe(this.#folder.find(path, symlinkFollow).stats)
  }

  setTimesAt (
    { symlinkFollow = false }: PathFlags, path: string, accessed: NewTimestamp, changed: NewTimestamp
  ): void {
    const { atimeNs, mtimeNs } = this.#folder.find(path, symlinkFollow).stats
    this.#folder.setTimes(path, symlinkFollow, secondsOf(accessed, atimeNs), secondsOf(changed, mtimeNs))
  }

  linkAt ({ symlinkFollow = false }: PathFlags, path: string, to: Descriptor, toPath: string): void {
    this.#folder.link(path, symlinkFollow, to.#folder, toPath)
  }

  openAt (
    { symlinkFollow = false }: PathFlags, path: string,
    { create = false, directory = false, exclusive = false, truncate = false }: OpenFlags,
    { read = false, write = false, mutateDirectory = false }: DescriptorFlags
  ): Descriptor {
    const folder = this.#folder
    if (mutateDirectory && !folder.writable) throw new WasiError('read-only')
    const found = this.#files.open(folder, path, {
      follow: symlinkFollow, create, directory, exclusive, truncate, read, write
    })
    return new Descriptor(this.#files, found)
  }

  readlinkAt (path: string): string {
    return this.#folder.readlink(path)
  }

  removeDirectoryAt (path: string): void {
    this.#folder.removeFolder(path)
  }

  renameAt (path: string, to: Descriptor, toPath: string): void {
    this.#folder.rename(path, to.#folder, toPath)
  }

  symlinkAt (target: string, path: string): void {
    this.#folder.symlink(target, path)
  }

  unlinkFileAt (path: string): void {
    this.#folder.removeFile(path)
  }

  isSameObject (other: Descriptor): boolean {
    const [one, two] = [this.#open.stat(), other.#open.stat()]
    return one.dev === two.dev && one.ino === two.ino
  }

  metadataHash () {
    return hashOf(this.#open.stat())
  }

  metadataHashAt ({ symlinkFollow = false }: PathFlags, path: string) {
    return hashOf(this.#folder.find(path, symlinkFollow).stats)
  }

  /** Called when the program drops it. */
  [Symbol.dispose] (): void {
    if (!(this.#open instanceof OpenFolder)) this.#files.close(this.#open)
  }
}

/** The error of the file system behind an error of a stream. */
export function filesystemErrorCode (error: unknown): ErrorName | undefined {
  return error instanceof StreamError ? error.error.payload : undefined
}
