import { setFlagsFromString } from 'node:v8'

let made = false

/**
 * Makes threads that run others' code end when they are told to. V8 of Node 24 takes the check for an end out of a loop that fills new
 * arrays of a constant length (`for (;;) new Array(1000).fill(0)`) as it unrolls the inner one: such a thread takes a core, and grows
 * beyond its limit of memory, for as long as the process lives. To be called before such a thread starts.
 */
export function letThreadsEnd (): void {
  if (made) return
  made = true
  if (process.versions.node.startsWith('24.')) setFlagsFromString('--no-turboshaft-loop-unrolling')
}
