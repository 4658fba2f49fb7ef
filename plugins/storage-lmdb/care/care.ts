import { randomUUID } from 'node:crypto'
import { copyFile, link, lstat, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  hasCode, historyFileName, isAbsent, messageOf, secureDataDirectory, type HistoryCare, type Repair
} from '../../../kernel/index.ts'
import { checkFile } from '../check-file.ts'
import type { Sound } from '../file/content.ts'
import { formatVersion } from '../format.ts'
import { wordsFolder } from '../text/folder.ts'
import { DamagedFile, runTask } from './child.ts'
import { exclusively, noteSound, Session } from './session.ts'

/** Backups, restoring and repairs of the history in a data directory. Every file is checked before it takes a place. */
export const care: HistoryCare = {
  async backup (to, { data_dir, log, signal }) {
    const file = join(data_dir, historyFileName)
    if (await checkFile(file) === undefined) {
      throw new Error(`there is no history in ${data_dir} yet, so there is nothing to copy`)
    }
    if (await isThere(to)) throw new Error(`${to} is there already; name a file that is not`)
    if (!await isThere(dirname(to))) throw new Error(`the folder ${dirname(to)} is not there; make it first`)
    const session = await Session.begin(file, log, signal)
    try {
      return await withTemporary(to, async copy => {
        await runTask('copy', [file, copy], signal)
        const { executions } = await sound(copy, signal)
        await sync(copy, 0o600)
        await putWhereNothingIs(copy, to)
        await syncFolder(to)
        const { size: bytes } = await stat(to)
        return { file: to, bytes, executions }
      })
    } finally {
      session.end()
    }
  },

  async restore (from, { data_dir, log, signal }) {
    if (!await isThere(from)) throw new Error(`${from} is not there; nothing was changed`)
    if (!(await stat(from)).isFile()) throw new Error(`${from} is not a file; nothing was changed`)
    secureDataDirectory(data_dir, log)
    const file = join(data_dir, historyFileName)
    return await exclusively(file, () => withTemporary(file, async copy => {
      await copyFile(from, copy)
      const { executions, format } = await sound(copy, signal, from)
      if (format === 0) throw new Error(`${from} is empty, and no history; nothing was changed`)
      if (format > formatVersion) {
        throw new Error(`${from} has format ${format}, made by a newer version; use that version. Nothing was changed`)
      }
      await runTask('detach', [copy], signal)
      return { executions, aside: await replace(file, copy, 'before') }
    }))
  },

  async repair ({ data_dir, log, signal }) {
    const file = join(data_dir, historyFileName)
    if (!await isThere(file)) return { damage: null, aside: null, kept: 0, lost: 0, gaps: [] }
    secureDataDirectory(data_dir, log)
    return await exclusively(file, async () => {
      try {
        const { executions } = await runTask('check', [file], signal)
        await noteSound(file)
        return { damage: null, aside: null, kept: executions, lost: 0, gaps: [] }
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error
        return { damage: error.message, ...await salvageInto(file, signal) }
      }
    })
  }
}

async function salvageInto (file: string, signal: AbortSignal): Promise<Omit<Repair, 'damage'>> {
  return await withTemporary(file, async salvaged => {
    const report = await runTask('salvage', [file, salvaged], signal)
    await sound(salvaged, signal)
    return { ...report, aside: await replace(file, salvaged, 'damaged') }
  })
}

/**
 * Checks a copy. LMDB leaves a lock file beside it.
 * @param named how the file is called in the error
 * @throws Error when it is damaged
 */
async function sound (copy: string, signal: AbortSignal, named = copy): Promise<Sound> {
  try {
    return await runTask('check', [copy], signal)
  } catch (error) {
    if (!(error instanceof DamagedFile)) throw error
    throw new Error(`${named} is not a good history: ${messageOf(error)}. Nothing was changed`, { cause: error })
  }
}

/**
 * Moves the present file aside, with a name that tells when, and puts another one in its place. Both are on disk then.
 * @returns where the former file is; null when there was none
 */
async function replace (file: string, other: string, word: string): Promise<string | null> {
  await sync(other, 0o600)
  let aside: string | null = `${file}.${word}-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  if (await isThere(aside)) aside = `${aside}-${randomUUID()}`
  try {
    await rename(file, aside)
  } catch (error) {
    if (!isAbsent(error)) throw error
    aside = null
  }
  // The lock belongs to the former file: its table of readers names transactions that the new file may not have.
  await rm(`${file}-lock`, { force: true })
  await rm(wordsFolder(file), { recursive: true, force: true }) // they are of the former file
  await rename(other, file)
  await syncFolder(file)
  await noteSound(file)
  return aside
}

/** Calls a function with the path of a temporary file, beside the path where the file is to be in the end. */
async function withTemporary<T> (path: string, work: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    return await work(temporary)
  } finally {
    await rm(temporary, { force: true })
    await rm(`${temporary}-lock`, { force: true })
  }
}

/** Gives a file a name that no other file has. */
async function putWhereNothingIs (file: string, to: string): Promise<void> {
  try {
    await link(file, to)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new Error(`${to} is there already; name a file that is not`, { cause: error })
    // Some file systems, such as those of USB sticks, have no links.
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error
    if (await isThere(to)) throw new Error(`${to} is there already; name a file that is not`, { cause: error })
    await rename(file, to)
  }
}

async function isThere (path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

async function sync (file: string, mode: number): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes sure that the name of a file is on disk. */
async function syncFolder (file: string): Promise<void> {
  const handle = await open(dirname(file), 'r')
  try {
    await handle.sync()
  } catch (error) {
    if (!hasCode(error, 'EINVAL', 'EPERM')) throw error // a file system that can't sync folders
  } finally {
    await handle.close()
  }
}
