/**
 * Signals a whole process group. One that is gone already, or changed its user, is let be: there is nothing to do.
 *
 * A group's id stays taken while any of its processes lives, its leader's until it is reaped. Signalling a group just
 * after that relies on the system handing out ids in turn, not the one just freed.
 */
export function signalGroup (pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error
  }
}
