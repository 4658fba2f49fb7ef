import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The identity of a process. It differs from the identity of a later process with the same process id. */
export interface ProcessIdentity {
  pid: number
  /** The start time of the process, in a form that depends on the system; only compared for equality. */
  started: string
}

/** The processes that can share a storage. */
export interface Processes {
  /** The identity of the process that asks. */
  thisProcess (): ProcessIdentity
  /** Whether the process with this identity is still alive. */
  isAlive (owner: ProcessIdentity): boolean
}

/**
 * The start time of a process: on Linux, field 22 of /proc/<pid>/stat (clock ticks since boot) and the boot id;
 * on other systems, the output of `ps`. Undefined when there is no such process.
 */
function startOf (pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The command name, in parentheses, may itself contain spaces and parentheses.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const state = fields[0]
      if (state === 'Z' || state === 'X') return undefined
      return `${bootId()}:${fields[19]}`
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 2000 }).trim()
      || undefined
  } catch {
    return undefined
  }
}

let boot: string | undefined
function bootId (): string {
  return boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

let self: ProcessIdentity | undefined

/** The identity of this process. */
export function thisProcess (): ProcessIdentity {
  return self ??= { pid: process.pid, started: startOf(process.pid) ?? 'unknown' }
}

/** Whether the process with this identity is still alive. */
export function isAlive (owner: ProcessIdentity): boolean {
  const me = thisProcess()
  if (owner.pid === me.pid) return owner.started === me.started
  return startOf(owner.pid) === owner.started
}

/** The processes of this machine. */
export const machineProcesses: Processes = { thisProcess, isAlive }
