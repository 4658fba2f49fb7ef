import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** A thread takes 5 (Node 20) to 7 (Node 24, with io_uring) when it starts, and loads its modules with one more. */
const needed = 8

/**
 * Asks the system whether a thread can start. Where too few are free, Node's own attempt fails later and says less, and
 * Node 20 never closes what it had opened for it (up to 3 a server, since a fourth would have been enough).
 * @throws Error EMFILE or ENFILE when fewer file descriptors are free than a thread needs
 */
export function checkDescriptors (): void {
  const open: number[] = []
  try {
    while (open.length < needed) open.push(openSync(devNull, 'r'))
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}
