import { fstatSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const addon = fileURLToPath(new URL(`./close-on-exec-${process.platform}-${process.arch}.node`, import.meta.url))

/** Marks a descriptor as not to be passed on; undefined where the build found no compiler for this system. */
function load (): ((descriptor: number) => boolean) | undefined {
  try {
    const mark: unknown = createRequire(import.meta.url)(addon)
    return typeof mark === 'function' ? descriptor => mark(descriptor) === true : undefined
  } catch {
    return undefined
  }
}

/** Whether programs that this process starts can be kept from its files. */
export function canCloseOnExec (): boolean {
  return load() !== undefined
}

/**
 * Sees to it that no program that this process starts, be it from a thread or an addon, is passed on the descriptor of
 * a file: LMDB leaves its own without that mark, and Node has no way to set it. Where the build had no compiler nothing
 * is changed.
 */
export function closeOnExec (file: string): void {
  const mark = load()
  if (mark === undefined) return
  const { dev, ino } = statSync(file)
  for (const descriptor of openDescriptors()) {
    try {
      const stat = fstatSync(descriptor)
      if (stat.dev === dev && stat.ino === ino) mark(descriptor)
    } catch {} // the one by which they were listed, or one that another thread closed meanwhile
  }
}

/** None where the system does not list them. */
function openDescriptors (): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number)
  } catch {
    return []
  }
}
