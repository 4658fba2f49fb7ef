import { closeSync, readdirSync, readlinkSync } from 'node:fs'

/**
 * Closes files that this process has inherited and would pass on to its children: for example LMDB's file, which is not
 * marked as close-on-exec. Node has no files open when it starts. Where the system does not list descriptors, they stay
 * open.
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
      if (Number(descriptor) > 2 && /^\/(?!dev\/|proc\/)/.test(readlinkSync(`/proc/self/fd/${descriptor}`))) {
        closeSync(Number(descriptor))
      }
    } catch {} // the descriptor that was used to list them
  }
}
