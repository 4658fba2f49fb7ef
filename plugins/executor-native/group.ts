/**
 * Signals a whole process group. Errors are ignored when the group has already ended, or has changed its user. The id
 * of a group stays in use while any of its processes lives; the id of its leader stays in use until the leader is
 * reaped. A signal to a group right after that relies on the system to assign ids in order, and not to reuse the last
 * one.
 */
export function signalGroup (pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error
  }
}
