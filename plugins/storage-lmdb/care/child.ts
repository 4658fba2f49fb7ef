import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isObject } from '../../../kernel/index.ts'
import type { Sound } from '../file/content.ts'
import type { Salvaged } from '../file/salvage.ts'

/** The tasks of `process.ts`, with what each of them answers. */
export interface Tasks {
  /** Reads the whole of a file, first without LMDB and then by LMDB. */
  check: (file: string) => Sound
  /** Copies a file that others may write to. */
  copy: (file: string, to: string) => null
  /** Makes a restored file independent of the processes that wrote it. */
  detach: (file: string) => null
  salvage: (file: string, to: string) => Salvaged
}

/** What the process says at its end. */
export type Said = { done: unknown } | { damage: string } | { failure: string }

const program = fileURLToPath(new URL('process.js', import.meta.url))
/** The length up to which the error output of a process is kept. */
const stderrMax = 2_000

/** The signals of a process that read what it should not. Others come from outside, such as where memory is short. */
const byFault: ReadonlySet<NodeJS.Signals> = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP'])

/** Thrown when the file of a task is damaged. */
export class DamagedFile extends Error {}

/**
 * Runs a task in a process of its own: where a damaged file makes LMDB end the process by a signal, only this one ends.
 * @throws DamagedFile when the file is damaged, or reading it has ended the process
 * @throws Error when the task failed in another way
 */
export async function runTask<Name extends keyof Tasks> (
  name: Name, args: Parameters<Tasks[Name]>, signal: AbortSignal
): Promise<ReturnType<Tasks[Name]>> {
  signal.throwIfAborted()
  // The environment of the caller may have options of Node, and secrets.
  const child = spawn(process.execPath, [program, name, ...args], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
  const stop = (): void => { child.kill('SIGKILL') }
  signal.addEventListener('abort', stop)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr = (stderr + text).slice(-stderrMax) })
  try {
    await once(child, 'close')
  } finally {
    signal.removeEventListener('abort', stop)
  }
  signal.throwIfAborted()
  const { signalCode } = child
  if (signalCode !== null && byFault.has(signalCode)) {
    throw new DamagedFile(`reading it ended a process by ${signalCode}`)
  }
  if (signalCode !== null) throw new Error(`the process for the task "${name}" was ended by ${signalCode}; try again`)
  const reply = parse(stdout)
  if (reply === undefined) {
    throw new Error(`the process for the task "${name}" ended with ${child.exitCode}: ${stderr.trim()}`)
  }
  if ('damage' in reply) throw new DamagedFile(reply.damage)
  if ('failure' in reply) throw new Error(reply.failure)
  return reply.done as ReturnType<Tasks[Name]> // written by process.ts, whose types are these
}

function parse (text: string): Said | undefined {
  try {
    const reply: unknown = JSON.parse(text)
    if (!isObject(reply)) return undefined
    if (typeof reply['damage'] === 'string') return { damage: reply['damage'] }
    if (typeof reply['failure'] === 'string') return { failure: reply['failure'] }
    return 'done' in reply ? { done: reply['done'] } : undefined
  } catch {
    return undefined
  }
}
