import { closeSync, readdirSync, readlinkSync } from 'node:fs'

/**
 * Closes files that this process has from the one that started it, and would pass on: LMDB's, for one, is not marked as
 * its own. Node has no files open when it starts. Where the system does not list descriptors, they stay.
 */
export function closeInheritedFiles (): void {
  let descriptors: string[]
  try {
    descriptors = readdirSync('/proc/self/fd')
  } catch {
    return
  }
  for (const descriptor of descriptors) {
    try {
      if (Number(descriptor) > 2 && /^\/(?!dev\/|proc\/)/.test(readlinkSync(`/proc/self/fd/${descriptor}`))) closeSync(Number(descriptor))
    } catch {} // the one by which they were listed
  }
}
