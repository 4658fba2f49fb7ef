import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { hasCode, SkilletError } from '../../kernel/index.ts'
import type { TakeSocket } from '../toolkit/network/passed-socket.ts'
import { compiledFile } from '../toolkit/sandbox/compiled.ts'

/** The program that is started as a helper. */
export interface HelperProgram {
  file: string
  args: string[]
  env: Record<string, string>
  /** Whether its commands run in namespaces of their own, which end with it. Default false. */
  confined?: boolean
  /** Takes the socket that the helper passes at its start, where it passes one. */
  takeSocket?: TakeSocket
}

/** The time limit of the check that a helper runs, in milliseconds. */
const check_ms = 5_000
/** The heap of a helper in Node, in MiB; the output of commands is not in the heap. */
const heapMiB = 64
/**
 * For each command, Node copies the page tables of the helper's memory, and each page that is written afterwards. So
 * the helper writes few pages: objects are made in the same MiB, and no other thread collects garbage or compiles.
 */
const fewPages = { args: ['--max-semi-space-size=1', '--single-threaded'], env: { MALLOC_ARENA_MAX: '1' } }

/** The helper in Node, which runs on every platform of the server. */
export function nodeHelper (): HelperProgram {
  const { PATH, LD_LIBRARY_PATH } = process.env
  return {
    file: process.execPath,
    args: [`--max-old-space-size=${heapMiB}`, ...fewPages.args, fileURLToPath(new URL('./helper.js', import.meta.url))],
    // The helper's environment has no data of the server that a command could read in its parent; Node may need the
    // library path.
    env: {
      ...fewPages.env,
      ...(PATH !== undefined && { PATH }),
      ...(LD_LIBRARY_PATH !== undefined && { LD_LIBRARY_PATH })
    }
  }
}

/** The helper in C, which is three times as fast; undefined where the build found no compiler for this system. */
export function compiledHelper (): HelperProgram | undefined {
  const file = compiledFile(new URL('./helper', import.meta.url))
  return file === undefined ? undefined : { file, args: [], env: {} }
}

/** The helper in C whose commands are confined; undefined where the build found no compiler for this system. */
export function confinedHelper (): HelperProgram | undefined {
  const file = compiledFile(new URL('./sandbox', import.meta.url))
  return file === undefined ? undefined : { file, args: [], env: {}, confined: true }
}

/**
 * Whether a compiled helper runs on this system, which may differ from the system of the build. Checked once; it takes
 * some milliseconds.
 * @throws SkilletError OVERLOADED when the system has no room for another process now
 */
export function runsHere ({ file, args, env }: HelperProgram): boolean {
  const { status, error } = spawnSync(file, [...args, '--check'], { env, stdio: 'ignore', timeout: check_ms })
  if (hasCode(error, 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM')) throw noRoom()
  return status === 0
}

/** The error of a run for which no helper could start. */
export function noRoom (): SkilletError {
  return new SkilletError('OVERLOADED', 'The system has no room for another process; try again later')
}
