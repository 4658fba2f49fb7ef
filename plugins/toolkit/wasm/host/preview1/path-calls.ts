import type { RunState } from '../run-state.ts'
import type { Descriptors } from './descriptors.ts'
import type { GuestMemory } from './guest-memory.ts'
import { rights, timesOf, writeFilestat } from './stats.ts'

/** The functions of preview 1 that take paths. */
export function pathCalls (state: RunState, memory: GuestMemory, open: Descriptors) {
  return { ...lookups(state, memory, open), ...changes(memory, open) }
}

/** Those that open or look at something. */
function lookups (state: RunState, memory: GuestMemory, open: Descriptors) {
  return {
    path_open: (
      fd: number, lookup: number, path: number, length: number, how: number, wanted: bigint, _inherited: bigint,
      flags: number, opened: number
    ) => {
      const write = (wanted & rights.write) !== 0n
      const found = state.files.open(open.folder(fd), memory.text(path, length), {
        follow: (lookup & 1) !== 0,
        create: (how & 1) !== 0, directory: (how & 2) !== 0, exclusive: (how & 4) !== 0, truncate: (how & 8) !== 0,
        read: (wanted & rights.read) !== 0n, write
      })
      memory.setSize(opened, open.add(found, (flags & 1) !== 0, flags))
    },
    path_filestat_get: (fd: number, lookup: number, path: number, length: number, pointer: number) => {
      const { stats } = open.folder(fd).find(memory.text(path, length), (lookup & 1) !== 0)
      writeFilestat(memory.view(pointer, 64), stats)
    },
    path_readlink: (fd: number, path: number, length: number, buffer: number, size: number, used: number) => {
      const target = Buffer.from(open.folder(fd).readlink(memory.text(path, length)))
      const into = memory.bytes(buffer, size)
      into.set(target.subarray(0, into.length))
      memory.setSize(used, Math.min(target.length, into.length))
    }
  }
}

/** Those that change something. */
function changes (memory: GuestMemory, open: Descriptors) {
  return {
    path_filestat_set_times: (
      fd: number, lookup: number, path: number, length: number, accessed: bigint, changed: bigint, flags: number
    ) => {
      const [folder, name, follow] = [open.folder(fd), memory.text(path, length), (lookup & 1) !== 0]
      folder.setTimes(name, follow, ...timesOf(folder.find(name, follow).stats, accessed, changed, flags))
    },
    path_create_directory: (fd: number, path: number, length: number) => {
      open.folder(fd).makeFolder(memory.text(path, length))
    },
    path_remove_directory: (fd: number, path: number, length: number) => {
      open.folder(fd).removeFolder(memory.text(path, length))
    },
    path_unlink_file: (fd: number, path: number, length: number) => {
      open.folder(fd).removeFile(memory.text(path, length))
    },
    path_rename: (fd: number, path: number, length: number, toFd: number, toPath: number, toLength: number) => {
      open.folder(fd).rename(memory.text(path, length), open.folder(toFd), memory.text(toPath, toLength))
    },
    path_link: (
      fd: number, lookup: number, path: number, length: number, toFd: number, toPath: number, toLength: number
    ) => {
      const to = open.folder(toFd)
      open.folder(fd).link(memory.text(path, length), (lookup & 1) !== 0, to, memory.text(toPath, toLength))
    },
    path_symlink: (target: number, targetLength: number, fd: number, path: number, length: number) => {
      open.folder(fd).symlink(memory.text(target, targetLength), memory.text(path, length))
    }
  }
}
