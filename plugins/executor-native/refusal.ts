import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Refusal, RunMessage } from './protocol.ts'

/** Why a command could not be started. The system gives the same error for a missing program or directory. */
export async function whyRefused (
  error: NodeJS.ErrnoException,
  { program, cwd, env }: Pick<RunMessage, 'program' | 'cwd' | 'env'>
): Promise<Refusal> {
  switch (error.code) {
    case 'EAGAIN':
    case 'ENOMEM':
    case 'EMFILE':
    case 'ENFILE':
      return 'resources'
    case 'E2BIG':
      return 'too_long'
  }
  if (!await isOpenDirectory(cwd)) return 'directory'
  if (error.code === 'ENOENT') return await isThere(program, env['PATH'] ?? '') ? 'interpreter' : 'missing'
  return error.code === 'ENOTDIR' ? 'missing' : 'not_executable'
}

async function isOpenDirectory (path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

async function isThere (program: string, path: string): Promise<boolean> {
  const candidates = program.includes('/') ? [program] : path.split(':').map(folder => join(folder, program))
  const accessible = await Promise.all(candidates.map(candidate => access(candidate).then(() => true, () => false)))
  return accessible.includes(true)
}
