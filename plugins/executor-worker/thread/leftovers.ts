import { clearTimeout, setImmediate, setTimeout } from 'node:timers'

// Taken before any tool could replace them.
const activeResources = process.getActiveResourcesInfo.bind(process)
const prototype: NodeJS.Timeout = Object.getPrototypeOf(setTimeout(() => {}, 0).unref())
const unref = prototype.unref

/** Timers that tools of this thread have unref'd, and that may still fire. */
let hidden: NodeJS.Timeout[] = []

/** Runs something after a while without keeping the thread busy, and unseen by what follows. */
export function later (ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms)
  unref.call(timer)
  return () => { clearTimeout(timer) }
}

/**
 * An unref'd timer is not among the active resources, and can hang or throw like any other: `unref` notes it. What
 * Node's own code unrefs (idle connections, AbortSignal.timeout) runs nothing of the tool's and is left out.
 */
export function noteHiddenTimers (): void {
  prototype.unref = function (this: NodeJS.Timeout) {
    const caller = new Error('unref').stack?.split('\n', 3)[2] ?? ''
    if (!caller.includes('(node:') && !caller.includes('at node:')) hidden.push(this)
    return unref.call(this)
  }
}

/** How many resources are active: two microseconds at most, so it is asked for in every run. */
export function activeCount (): number {
  return activeResources().length
}

/** Whether more is open than there was: timers, sockets, file operations, children. */
export function leftOpen (before: number): boolean {
  if (hidden.length > 0) hidden = hidden.filter(timer => !isOver(timer))
  return hidden.length > 0 || activeCount() > before
}

/** Whether a timer was cleared or has fired; unknown counts as no. */
function isOver (timer: NodeJS.Timeout): boolean {
  return '_destroyed' in timer && timer._destroyed === true
}

/** Looks a few times, soon, whether what was left open has closed. */
export function whenClosed (before: number, then: () => void): void {
  const waits_ms = [0, 5, 20, 40]
  const look = (): void => {
    if (!leftOpen(before)) return then()
    const wait_ms = waits_ms.shift()
    if (wait_ms !== undefined) later(wait_ms, look)
  }
  // Not the immediate's own turn: it would count as open itself.
  setImmediate(() => { later(1, look) })
}
