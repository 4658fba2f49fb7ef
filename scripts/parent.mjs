// What lets the server of `npm start` end with npm. npm starts a shell, and the shell the server: a signal that ends
// npm reaches neither, since a shell that waits does not pass it on.
import { readFileSync } from 'node:fs'

/** How often npm is looked for, in milliseconds. */
const every_ms = 500

/**
 * Sends this process SIGTERM, as Ctrl-C would end it, once the npm that started it is gone. Without npm it does
 * nothing.
 */
export function endWithNpm () {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  // Where the shell made itself the server, npm is the parent; whose child it is doesn't matter.
  const grandparent = isNpm(parent) ? undefined : parentOf(parent)
  const timer = setInterval(() => {
    if (process.ppid === parent && (grandparent === undefined || parentOf(parent) === grandparent)) return
    clearInterval(timer)
    console.error('npm has ended, so the server ends too.')
    process.kill(process.pid, 'SIGTERM')
  }, every_ms)
  timer.unref()
}

/** Whether a process is npm, which names itself `npm start`; false where the system does not say. */
function isNpm (pid) {
  try {
    return /^npm\b/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}

/** The parent of a process; undefined where the system does not say. */
function parentOf (pid) {
  try {
    // The name, in brackets, may hold whatever; behind it stand the state and the parent.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '').trim().split(' ')[1]
  } catch {
    return undefined
  }
}
