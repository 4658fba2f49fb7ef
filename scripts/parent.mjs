// Ends the server of `npm start` when npm ends. npm starts a shell, and the shell starts the server: a signal that ends
// npm does not reach the server, since a waiting shell does not forward it.
import { readFileSync } from 'node:fs'

/** The time between two checks whether npm still runs, in milliseconds. */
const every_ms = 500

/**
 * Sends SIGTERM to this process when the npm that started it has ended, so that the server stops in order. Without
 * effect when npm did not start it.
 */
export function endWithNpm () {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  // Some shells replace themselves with the server: then npm is the parent, and the grandparent is not needed.
  const grandparent = isNpm(parent) ? undefined : parentOf(parent)
  const timer = setInterval(() => {
    if (process.ppid === parent && (grandparent === undefined || parentOf(parent) === grandparent)) return
    clearInterval(timer)
    console.error('npm has ended, so the server ends too.')
    process.kill(process.pid, 'SIGTERM')
  }, every_ms)
  timer.unref()
}

/** Whether a process is npm, whose command line is `npm start`; false when the system does not show it. */
function isNpm (pid) {
  try {
    return /^npm\b/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}

/** The id of a process's parent, as text; undefined when the system does not show it. */
function parentOf (pid) {
  try {
    // The name, in parentheses, may contain any characters; after it come the state and the parent.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '').trim().split(' ')[1]
  } catch {
    return undefined
  }
}
