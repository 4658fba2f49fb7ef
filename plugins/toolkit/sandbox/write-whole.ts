import { writeSync } from 'node:fs'

/** The other end did not read for a while: how long until the next attempt, in milliseconds. */
const wait_ms = 1

/**
 * A function that writes bytes to a descriptor before it returns; where the other end is gone, it ends the process. Its
 * functions of Node are taken now, before code of a skill could replace them.
 */
export function wholeWriter (descriptor: number): (bytes: Buffer) => void {
  const write = writeSync
  const { wait } = Atomics
  const exit = process.exit.bind(process)
  const never = new Int32Array(new SharedArrayBuffer(4))
  return bytes => {
    for (let at = 0; at < bytes.length;) {
      try {
        at += write(descriptor, bytes, at)
      } catch (error) {
        // The other end always reads. Where it is gone, nothing is left to do.
        if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) exit(1)
        wait(never, 0, 0, wait_ms)
      }
    }
  }
}
