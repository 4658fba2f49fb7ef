import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { lstat, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { changeFile, isAbsent, messageOf } from '../../../kernel/index.ts'
import { formatVersion, parseRecords, type TrustRecord } from './record.ts'

/** The maximum size of the file, in bytes. */
const fileBytesMax = 16 * 1_048_576

/** The skills that the user trusted by their content: a file that only the user can read and write. */
export class TrustFile {
  readonly path: string

  /** @param directory `skillet` under the user's configuration directory */
  constructor (directory: string) {
    this.path = join(directory, 'trust.json')
  }

  /** A text that differs whenever the file may differ. A change of its mode or owner counts as well. */
  async stamp (): Promise<string> {
    try {
      const { dev, ino, size, mode, uid, mtimeNs, ctimeNs } = await stat(this.path, { bigint: true })
      return [dev, ino, size, mode, uid, mtimeNs, ctimeNs].join(':')
    } catch (error) {
      return isAbsent(error) ? 'absent' : messageOf(error)
    }
  }

  /**
   * The records; none when there is no file.
   * @throws Error with a remedy, when the file can't be read, is damaged, or others can write to it
   */
  read (): TrustRecord[] {
    const text = this.#text()
    if (text === undefined) return []
    try {
      return parseRecords(text)
    } catch (error) {
      const why = `${messageOf(error)}; mend it, or remove it and trust the skills again`
      throw new Error(`${this.path} is damaged: ${why}`, { cause: error })
    }
  }

  /** Adds a record in place of earlier ones for the same folder. @throws Error */
  async add (record: TrustRecord): Promise<void> {
    await this.#change(records => [...records.filter(({ path }) => path !== record.path), record])
  }

  /** Removes the records that a function chooses. @returns the removed records. @throws Error */
  async remove (chosen: (record: TrustRecord) => boolean): Promise<TrustRecord[]> {
    const removed: TrustRecord[] = []
    await this.#change(records => {
      removed.push(...records.filter(chosen))
      return removed.length === 0 ? undefined : records.filter(record => !chosen(record))
    })
    return removed
  }

  async #change (change: (records: TrustRecord[]) => TrustRecord[] | undefined): Promise<void> {
    const directory = dirname(this.path)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    refuseOthers(directory, await lstat(directory))
    await changeFile(this.path, () => {
      const records = change(this.read()) // `read` checks the mode and the owner of the file
      if (records === undefined) return undefined
      const skills = records.sort((a, b) => a.path < b.path ? -1 : 1)
      const text = `${JSON.stringify({ version: formatVersion, skills }, null, 1)}\n`
      if (Buffer.byteLength(text) <= fileBytesMax) return text
      throw new Error(`${this.path} would be larger than ${fileBytesMax} bytes`)
    })
  }

  #text (): string | undefined {
    let descriptor
    try {
      descriptor = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK)
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw new Error(`${this.path} can't be read: ${messageOf(error)}`, { cause: error })
    }
    try {
      const stats = fstatSync(descriptor)
      if (!stats.isFile()) throw new Error(`${this.path} is no file`)
      refuseOthers(this.path, stats)
      if (stats.size > fileBytesMax) throw new Error(`${this.path} is larger than ${fileBytesMax} bytes`)
      return readFileSync(descriptor, 'utf8')
    } finally {
      closeSync(descriptor)
    }
  }
}

/** @throws Error when other users can write to a file or directory, or own it */
function refuseOthers (path: string, { mode, uid }: { mode: number, uid: number }): void {
  const user = process.getuid?.()
  if (user === undefined) return // Windows has neither modes nor owners
  if (uid !== user) throw new Error(`${path} belongs to another user; run: chown ${user} ${path}`)
  if ((mode & 0o022) !== 0) throw new Error(`other users can write to ${path}; run: chmod go-w ${path}`)
}
