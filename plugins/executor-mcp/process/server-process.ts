import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { constants } from 'node:os'
import { hasCode, messageOf, within } from '../../../kernel/index.ts'
import { howToInstall } from '../../toolkit/packages.ts'
import { ServerFault } from '../server-fault.ts'

/** What the end of a server's process was. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  /** For what it was ended, in words that follow "it". */
  what?: string
}

/** A running server and the group of its processes. */
export interface ServerProcess {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the server ended. Its whole group is ended then, too. */
  readonly exited: Promise<Exit>
  /** A call begins. @param alone whether no other one runs */
  begin? (alone: boolean): void
  /**
   * Ends the server: closes its standard input, then asks its group to end, then ends it. Resolves when it has ended.
   */
  end (): Promise<void>
}

/** How long a server may take to end by itself, and then when it is asked to, in milliseconds. */
export const grace_ms = { stdin: 1_000, signal: 1_000 }

/**
 * Starts a server in a process group of its own, without a sandbox.
 * @throws ServerFault with the remedy
 */
export async function startServerProcess (
  command: readonly string[], { cwd, env }: { cwd: string, env: Record<string, string> }
): Promise<ServerProcess> {
  const [program = '', ...args] = command
  let child: ChildProcessByStdio<Writable, Readable, Readable>
  try {
    child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true, windowsHide: true })
  } catch (error) {
    throw new ServerFault(`its command could not be started: ${messageOf(error)}`, { cause: error })
  }
  const exited = new Promise<Exit>(resolve => {
    child.once('exit', (code, signal) => {
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
      resolve({ code, signal })
    })
  })
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
  } catch (error) {
    throw new ServerFault(await whyNotStarted(program, cwd, error), { cause: error })
  }
  child.on('error', () => {}) // a signal that could not be sent; the process ends all the same
  const { pid = 0, stdin, stdout, stderr } = child
  let ending: Promise<void> | undefined
  return { pid, stdin, stdout, stderr, exited, end: () => ending ??= end({ pid, stdin, exited }) }
}

async function end ({ pid, stdin, exited }: Pick<ServerProcess, 'pid' | 'stdin' | 'exited'>): Promise<void> {
  stdin.end()
  if (await within(grace_ms.stdin, exited)) return
  signalGroup(pid, 'SIGTERM')
  if (await within(grace_ms.signal, exited)) return
  signalGroup(pid, 'SIGKILL')
  await exited
}

/** Signals a process group. Errors are ignored when the group has ended, or changed its user. */
function signalGroup (pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (!hasCode(error, 'ESRCH', 'EPERM')) throw error
  }
}

async function whyNotStarted (program: string, cwd: string, error: unknown): Promise<string> {
  const isDirectory = await stat(cwd).then(stats => stats.isDirectory(), () => false)
  if (!isDirectory) return `its working directory ${cwd} does not exist`
  if (hasCode(error, 'ENOENT')) return notFound(program)
  if (hasCode(error, 'EACCES')) return `the program ${program} may not be executed`
  return `the program ${program} could not be started: ${messageOf(error)}`
}

/** That a program is missing, with the remedy. */
export function notFound (program: string): string {
  const install = howToInstall(program)
  return `the program ${program} was not found${install === undefined ? '' : `; install it: ${install}`}`
}

/** The end of a process in words. */
export function exitInWords ({ code, signal, what }: Exit): string {
  if (what !== undefined) return what
  return signal === null
    ? `exited with code ${code ?? 1}`
    : `was ended by ${signal} (code ${128 + constants.signals[signal]})`
}
