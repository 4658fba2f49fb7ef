import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { hasCode, isObject } from '../../../kernel/index.ts'

/** How long a program such as git or npm may take, in milliseconds, and what it may print, in bytes. */
const limits = { timeout_ms: 300_000, outputBytes: 16 * 1_048_576 }

/** Lines of npm that do not say what is wrong. */
const noise = /^npm (?:notice|warn|error A complete log)/

/**
 * Runs a program that fetches a package, without a shell.
 * @returns what it printed
 * @throws Error that names the program and has the beginning of what it said
 */
export async function runProgram (
  program: string, args: readonly string[], { cwd, signal }: { cwd: string, signal: AbortSignal }
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, {
      cwd, signal, timeout: limits.timeout_ms, maxBuffer: limits.outputBytes,
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_LFS_SKIP_SMUDGE: '1' }
    })
    return stdout
  } catch (error) {
    signal.throwIfAborted()
    if (hasCode(error, 'ENOENT')) {
      throw new Error(`${program} is not installed, and is needed for this`, { cause: error })
    }
    const said = isObject(error) && typeof error['stderr'] === 'string' ? error['stderr'].trim() : ''
    const isLate = isObject(error) && error['killed'] === true
    const lines = said.split('\n').filter(line => !noise.test(line)).slice(0, 5)
    const why = isLate ? `it took longer than ${limits.timeout_ms / 1000} s` : lines.join('\n')
    throw new Error(`${program} ${args[0] ?? ''} failed: ${why}`, { cause: error })
  }
}
