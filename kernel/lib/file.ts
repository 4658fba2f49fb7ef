import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isObject } from './json.ts'
import { isAlive, thisProcess, type ProcessIdentity } from './process-identity.ts'

/** How long a writer waits for the lock of another writer, in milliseconds. */
const lock_ms = 5_000

/** Whether an error is a system error with one of these codes. */
export function hasCode (error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}

/** Whether an error means that a path does not exist. */
export function isAbsent (error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR')
}

/**
 * Writes a temporary file and renames it, so that a reader of the path sees either the old file or the complete new
 * file.
 * @param options `mode`: mode of the file, default 0600; `durable`: whether the file is on disk when the promise
 * resolves, default true; a cache does not need it
 */
export async function replaceFile (
  path: string, content: string | Uint8Array, { mode = 0o600, durable = true } = {}
): Promise<void> {
  const aside = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(aside, 'wx', 0o600)
    try {
      await file.writeFile(content)
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
 * Changes a file atomically; processes that change it at the same time take turns. Only the owner can read a new file
 * and a new directory. An existing file keeps its mode, and a link stays a link.
 * @param change returns the new text for the present text (empty when there is no file); undefined leaves the file
 * unchanged
 * @throws Error, and the file stays unchanged
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
 * Acquires a lock file, and waits while another process holds it. The lock of a dead process is removed.
 * @returns a function that releases the lock
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
        await link(own, path) // the file appears complete: no process reads half an owner
      } finally {
        await rm(own, { force: true })
      }
      return () => rm(path, { force: true })
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
    await takeAwayIfDead(path)
    if (performance.now() > until) {
      throw new Error(`another process has held ${path} for ${lock_ms} ms; if there is none, remove it`)
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function takeAwayIfDead (path: string): Promise<void> {
  const held = await ownerOf(path)
  if (held === undefined || isAlive(held)) return
  // The rename decides which process removes the lock. If a new lock was created in between, it is restored.
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
