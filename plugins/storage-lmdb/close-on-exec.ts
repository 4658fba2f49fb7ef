import { fstatSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const addon = fileURLToPath(new URL(`./close-on-exec-${process.platform}-${process.arch}.node`, import.meta.url))

/**
 * Loads the function that marks a descriptor as close-on-exec; undefined where the build found no compiler for this
 * system.
 */
function load (): ((descriptor: number) => boolean) | undefined {
  try {
    const mark: unknown = createRequire(import.meta.url)(addon)
    return typeof mark === 'function' ? descriptor => mark(descriptor) === true : undefined
  } catch {
    return undefined
  }
}

/** Whether the programs that this process starts can be prevented from inheriting its files. */
export function canCloseOnExec (): boolean {
  return load() !== undefined
}

/**
 * Prevents programs that this process starts, also from a thread or an addon, from inheriting the descriptor of a file:
 * LMDB does not set this mark on its descriptors, and Node has no function for it. Where the build had no compiler,
 * nothing is changed.
 */
export function closeOnExec (file: string): void {
  const mark = load()
  if (mark === undefined) return
  const { dev, ino } = statSync(file)
  for (const descriptor of openDescriptors()) {
    try {
      const stat = fstatSync(descriptor)
      if (stat.dev === dev && stat.ino === ino) mark(descriptor)
    } catch {} // the descriptor that was used to list them, or a descriptor that another thread closed meanwhile
  }
}

/** The open descriptors; none where the system does not list them. */
function openDescriptors (): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number)
  } catch {
    return []
  }
}
