import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Folders whose names begin so are no skills; they are on the same file system as the skills, so that a move is atomic.
 */
const prefix = '.installing-'
/** A workspace that is older than this was left by a process that was killed, in milliseconds. */
const abandoned_ms = 3_600_000

/** Does something with an empty folder among the user's skills, which is removed afterwards. */
export async function withWorkspace<Result> (
  skills: string,
  work: (folder: string) => Promise<Result>
): Promise<Result> {
  await mkdir(skills, { recursive: true, mode: 0o700 })
  await removeAbandoned(skills)
  const folder = join(skills, prefix + randomUUID())
  await mkdir(folder, { mode: 0o700 })
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function removeAbandoned (skills: string): Promise<void> {
  for (const name of await readdir(skills)) {
    if (!name.startsWith(prefix)) continue
    const folder = join(skills, name)
    const stats = await stat(folder).catch(() => undefined)
    if (stats !== undefined && Date.now() - stats.mtimeMs > abandoned_ms) {
      await rm(folder, { recursive: true, force: true })
    }
  }
}
