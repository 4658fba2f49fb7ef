import type { RunState } from '../run-state.ts'
import { WasiError } from '../wasi-error.ts'
import type { Descriptor, Descriptors } from './descriptors.ts'
import type { GuestMemory } from './guest-memory.ts'
import { fileTypeOf, numberOf, rightsOf, timesOf, writeFilestat } from './stats.ts'
import { read, write } from './transfers.ts'

const append = 1

/** The functions of preview 1 for what is open. */
export function descriptorCalls (state: RunState, memory: GuestMemory, open: Descriptors) {
  return {
    ...transfers(state, memory, open),
    ...properties(memory, open),
    fd_close: (fd: number) => { open.close(fd) },
    fd_renumber: (from: number, to: number) => { open.renumber(from, to) },
    fd_advise: (fd: number) => { open.file(fd) },
    fd_allocate: (fd: number, offset: bigint, length: bigint) => {
      const { file } = open.file(fd)
      const size = numberOf(offset + length)
      if (Number(file.stat().size) < size) file.setSize(size)
    },
    fd_sync: (fd: number) => { open.of(fd) },
    fd_datasync: (fd: number) => { open.of(fd) },
    fd_readdir: (fd: number, buffer: number, length: number, cookie: bigint, used: number) => {
      memory.setSize(used, listFolder(open.folder(fd).entries(), memory.bytes(buffer, length), numberOf(cookie)))
    }
  }
}

/** Those that read and write. */
function transfers (state: RunState, memory: GuestMemory, open: Descriptors) {
  return {
    fd_read: (fd: number, vectors: number, count: number, done: number) => {
      memory.setSize(done, read(state, open.of(fd), memory.vectors(vectors, count)))
    },
    fd_pread: (fd: number, vectors: number, count: number, offset: bigint, done: number) => {
      memory.setSize(done, read(state, open.file(fd), memory.vectors(vectors, count), numberOf(offset)))
    },
    fd_write: (fd: number, vectors: number, count: number, done: number) => {
      memory.setSize(done, write(state, open.of(fd), memory.vectors(vectors, count)))
    },
    fd_pwrite: (fd: number, vectors: number, count: number, offset: bigint, done: number) => {
      memory.setSize(done, write(state, open.file(fd), memory.vectors(vectors, count), numberOf(offset)))
    },
    fd_seek: (fd: number, offset: bigint, whence: number, position: number) => {
      const found = open.file(fd)
      const start = [0n, BigInt(found.position), found.file.stat().size][whence]
      if (start === undefined) throw new WasiError('invalid')
      found.position = numberOf(start + BigInt.asIntN(64, offset))
      memory.setLong(position, BigInt(found.position))
    },
    fd_tell: (fd: number, position: number) => { memory.setLong(position, BigInt(open.file(fd).position)) }
  }
}

/** Those for what is known of a descriptor. */
function properties (memory: GuestMemory, open: Descriptors) {
  return {
    fd_fdstat_get: (fd: number, pointer: number) => {
      const found = open.of(fd)
      const view = memory.view(pointer, 24)
      const stats = statsOf(found)
      view.setBigUint64(0, 0n)
      view.setUint8(0, stats === undefined ? 2 : fileTypeOf(stats))
      view.setUint16(2, found.kind === 'file' ? found.flags : 0, true)
      view.setBigUint64(8, rightsOf(found), true)
      view.setBigUint64(16, found.kind === 'folder' ? (1n << 30n) - 1n : 0n, true)
    },
    fd_fdstat_set_flags: (fd: number, flags: number) => {
      const found = open.of(fd)
      if (found.kind !== 'file') return
      found.flags = flags
      found.append = (flags & append) !== 0
    },
    fd_fdstat_set_rights: (fd: number) => { open.of(fd) },
    fd_filestat_get: (fd: number, pointer: number) => {
      const found = open.of(fd)
      const stats = statsOf(found)
      writeFilestat(memory.view(pointer, 64), stats)
    },
    fd_filestat_set_size: (fd: number, size: bigint) => { open.file(fd).file.setSize(numberOf(size)) },
    fd_filestat_set_times: (fd: number, accessed: bigint, changed: bigint, flags: number) => {
      const { file } = open.file(fd)
      file.setTimes(...timesOf(file.stat(), accessed, changed, flags))
    },
    ...names(memory, open)
  }
}

/** Those for the names of preopened folders. */
function names (memory: GuestMemory, open: Descriptors) {
  return {
    fd_prestat_get: (fd: number, pointer: number) => {
      const view = memory.view(pointer, 8)
      view.setUint32(0, 0, true)
      view.setUint32(4, nameOf(open.of(fd)).length, true)
    },
    fd_prestat_dir_name: (fd: number, pointer: number, length: number) => {
      const name = nameOf(open.of(fd))
      if (name.length > length) throw new WasiError('name-too-long')
      memory.bytes(pointer, name.length).set(name)
    }
  }
}

/** What is known of the file or folder; undefined for standard input and output. */
function statsOf (found: Descriptor) {
  if (found.kind === 'folder') return found.folder.stat()
  return found.kind === 'file' ? found.file.stat() : undefined
}

function nameOf (found: Descriptor): Buffer {
  if (found.kind !== 'folder' || found.preopen === undefined) throw new WasiError('bad-descriptor')
  return Buffer.from(found.preopen)
}

/** Writes entries of a folder from the one with this number. @returns how many bytes were used; all when it is full */
function listFolder (
  entries: ReturnType<ReturnType<Descriptors['folder']>['entries']>, into: Uint8Array, from: number
): number {
  const all = [{ name: '.', stats: undefined, type: 3 }, { name: '..', stats: undefined, type: 3 },
    ...entries.map(entry => ({ ...entry, type: fileTypeOf(entry.stats) }))]
  let used = 0
  for (const [i, { name, stats, type }] of all.entries()) {
    if (i < from) continue
    if (used >= into.length) break
    const text = Buffer.from(name)
    const entry = Buffer.alloc(24 + text.length)
    entry.writeBigUInt64LE(BigInt(i + 1), 0)
    entry.writeBigUInt64LE(BigInt.asUintN(64, stats?.ino ?? 0n), 8)
    entry.writeUInt32LE(text.length, 16)
    entry.writeUInt8(type, 20)
    text.copy(entry, 24)
    const part = entry.subarray(0, into.length - used)
    into.set(part, used)
    used += part.length
  }
  return used
}
