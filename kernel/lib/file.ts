import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isObject } from './json.ts'
import { isAlive, thisProcess, type ProcessIdentity } from './process-identity.ts'

/** How long a writer waits for another, in milliseconds. */
const lock_ms = 5_000

/** Whether an error is one of the system's, with one of these codes. */
export function hasCode (error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}

/** Whether an error says that nothing is at a path. */
export function isAbsent (error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR')
}

/**
 * Writes a file aside and renames it: whoever reads the path sees it as it was before, or whole.
 * @param options `mode` of the file, 0600 by default; `durable`: on disk when this resolves, which a cache need not be
 */
export async function replaceFile (path: string, text: string, { mode = 0o600, durable = true } = {}): Promise<void> {
  const aside = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(aside, 'wx', 0o600)
    try {
      await file.writeFile(text)
      if (mode !== 0o600) await file.chmod(mode)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
}

/**
 * Changes a file in one step; processes that change it at once take turns. A new file is for its owner only, in a
 * directory that is; one that is there keeps its mode, and a link stays a link.
 * @param change gives the new text for the present one, which is empty where there is no file; undefined leaves it
 * alone
 * @throws Error, and the file is as it was
 */
export async function changeFile (path: string, change: (text: string) => string | undefined): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await realpath(path).catch(() => path)
  const release = await lock(`${file}.lock`)
  try {
    const present = await stat(file).catch((error: unknown) => {
      if (isAbsent(error)) return undefined
      throw error
    })
    const text = change(present === undefined ? '' : await readFile(file, 'utf8'))
    if (text !== undefined) await replaceFile(file, text, present === undefined ? {} : { mode: present.mode & 0o777 })
  } finally {
    await release()
  }
}

/**
 * Takes a lock file, waiting for another that holds it; that of a process which died is taken away.
 * @returns what gives it back
 */
async function lock (path: string): Promise<() => Promise<void>> {
  for (const until = performance.now() + lock_ms; ;) {
    try {
      const own = `${path}.${randomUUID()}`
      const file = await open(own, 'wx', 0o600)
      try {
        await file.writeFile(JSON.stringify(thisProcess()))
      } finally {
        await file.close()
      }
      try {
        await link(own, path) // it appears whole: nobody reads half an owner
      } finally {
        await rm(own, { force: true })
      }
      return () => rm(path, { force: true })
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
    await takeAwayIfDead(path)
    if (performance.now() > until) throw new Error(`another process has held ${path} for ${lock_ms} ms; if there is none, remove it`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function takeAwayIfDead (path: string): Promise<void> {
  const held = await ownerOf(path)
  if (held === undefined || isAlive(held)) return
  // Renaming decides who takes it away. Should a new one have come between, it is put back.
  const away = `${path}.${randomUUID()}`
  try {
    await rename(path, away)
  } catch (error) {
    if (isAbsent(error)) return
    throw error
  }
  const taken = await ownerOf(away)
  if (taken !== undefined && isAlive(taken)) await link(away, path).catch(() => {})
  await rm(away, { force: true })
}

async function ownerOf (path: string): Promise<ProcessIdentity | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (!isObject(value)) return undefined
    const { pid, started } = value
    return typeof pid === 'number' && typeof started === 'string' ? { pid, started } : undefined
  } catch {
    return undefined
  }
}
