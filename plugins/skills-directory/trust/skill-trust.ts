import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../../../kernel/index.ts'
import { digestsOf, readFolder, settle_ms, type FolderContent } from '../../toolkit/trust/folder-content.ts'
import type { TrustRecord } from '../../toolkit/trust/record.ts'
import { changesOf, fileChanges, inWords, snapshotOf, type Described } from '../../toolkit/trust/snapshot.ts'
import type { TrustFile } from '../../toolkit/trust/trust-file.ts'
import { walkFolder, type Walked } from '../../toolkit/trust/walk.ts'
import type { Looked } from '../listing/list.ts'
import type { Place } from '../listing/places.ts'
import type { Fault, Folder } from '../shared/protocol.ts'
import type { Verdict } from './verdict.ts'

/** The compiled kernel, of which modules of skills include the small file `skillet/skill`. */
const programFolder = fileURLToPath(new URL('../../../kernel/', import.meta.url))

export interface SkillTrustOptions {
  /** Directories whose skills are trusted, whatever they hold. */
  directories: readonly string[]
  /** The skills that are trusted by their content; undefined: none. */
  file?: TrustFile
  /** A folder with files that Skillet itself keeps of skills, and that may be part of a trusted one. */
  kept_folder?: string
  /** Whether skills that are not trusted are quarantined. */
  locked: boolean
}

/** Decides which skills are trusted. Only the folders that the trust file names are read for it. */
export class SkillTrust {
  readonly #options: SkillTrustOptions
  /** The directories of trusted skills without links; a missing directory trusts no skill. */
  #directories: readonly string[] = []
  /** The records by the path of their folder. */
  #records: ReadonlyMap<string, TrustRecord> = new Map()
  /** The stamp of the trust file at the last `refresh`. */
  #seen: string | undefined
  /** The contents of folders at the last reading: not read again while no file changes. */
  readonly #contents = new Map<string, FolderContent>()
  /** The entries of folders since `markOf`, until `judge`. */
  readonly #walked = new Map<string, Walked>()
  /** The fault of the trust file: then no skill is trusted by its content. */
  fault: Fault | undefined

  constructor (options: SkillTrustOptions) {
    this.#options = options
  }

  /** Reads the trust file and the names of directories again. @returns whether the trust file changed */
  async refresh (): Promise<boolean> {
    const { directories, file } = this.#options
    const realPaths = await Promise.all(directories.map(path => realpath(path).catch(() => undefined)))
    this.#directories = realPaths.filter(path => path !== undefined)
    if (file === undefined || !await this.isStale()) return false
    this.#seen = await file.stamp() // before the file is read: a change after this is found at the next refresh
    this.fault = undefined
    try {
      this.#records = new Map(file.read().map(record => [record.path, record]))
    } catch (error) {
      this.#records = new Map()
      this.fault = { name: 'trust.json', path: file.path, error: messageOf(error) }
    }
    return true
  }

  /** Whether the trust file has changed since it was read. */
  async isStale (): Promise<boolean> {
    return this.#options.file !== undefined && await this.#options.file.stamp() !== this.#seen
  }

  /** A text that differs whenever the verdict about a folder may differ; empty where it depends on no content. */
  async markOf (place: Place, looked: Looked): Promise<string> {
    const record = recorded(looked) ? this.#recordOf(place, looked) : undefined
    if (record === undefined) return ''
    try {
      const walked = await walkFolder(record.path)
      this.#walked.set(record.path, walked)
      return ` ${record.hash} ${walked.stamp}`
    } catch (error) {
      this.#walked.delete(record.path)
      return ` ${record.hash} ${messageOf(error)}`
    }
  }

  /** Whether all files of a folder count, since the trust file names it. */
  isNamed ({ real_path }: Pick<Folder, 'real_path'>): boolean {
    return this.#records.has(real_path)
  }

  /** The files behind links that leave a folder. */
  behindLinks ({ real_path }: Pick<Folder, 'real_path'>): string[] {
    const entries = this.#contents.get(real_path)?.entries ?? []
    return entries.flatMap(({ type, file }) => type === 'link' && file !== undefined ? [file] : [])
  }

  /** Decides about a folder; reads it where its content counts. Never rejects. */
  async judge (place: Place, folder: Folder): Promise<Verdict> {
    if (place.bundled) return { reason: 'bundled', quarantined: false }
    if (this.#isInDirectory(folder.real_path)) return { reason: 'directory', quarantined: false }
    const record = this.#recordOf(place, folder)
    const { locked } = this.#options
    if (record === undefined) {
      const text = `it was never trusted, and skills.locked is set; ${this.#remedy(folder)}`
      return { reason: 'none', quarantined: locked, ...(locked && { text }) }
    }
    try {
      const content = await this.#contentOf(folder.real_path)
      if (content.hash === record.hash) return { reason: 'content', quarantined: false }
      const changes = fileChanges(record.files, digestsOf(content.entries))
      return this.#changed(folder, inWords(changes) || 'its files changed')
    } catch (error) {
      return this.#changed(folder, messageOf(error))
    }
  }

  /**
   * Completes a verdict about a folder when it has been described.
   * @param outside files elsewhere from which the skill was made
   * @param read_ms when the description was begun, in milliseconds since 1970
   * @returns undefined when the folder may have changed meanwhile: then both must be done again
   */
  async confirm (
    verdict: Verdict, folder: Folder, skill: Described, outside: readonly string[], read_ms: number
  ): Promise<Verdict | undefined> {
    const record = this.#records.get(folder.real_path)
    if (record === undefined) return verdict
    if (verdict.reason === 'changed') {
      const changes = changesOf(record.snapshot, snapshotOf(skill))
      return changes.length === 0 ? verdict : { ...verdict, text: `${inWords(changes)}; ${verdict.text ?? ''}` }
    }
    if (verdict.reason !== 'content') return verdict
    const { kept_folder } = this.#options
    const kept = kept_folder === undefined ? [] : [kept_folder + sep]
    const own = [folder.real_path + sep, folder.path + sep, programFolder, ...kept]
    const stranger = outside.find(file => !own.some(place => file.startsWith(place)))
    if (stranger !== undefined) {
      const remedy = 'copy it into the folder, or name a directory in skills.trusted'
      return this.#changed(folder, `its code is also made of ${stranger}, which is outside of its folder: ${remedy}`)
    }
    // No file was changed between `newest_ms` and now. So the description, which was begun after that, was made from
    // the content that was hashed.
    const content = this.#contents.get(folder.real_path)
    const now = await walkFolder(folder.real_path).catch(() => undefined)
    const isSame = content !== undefined && now?.stamp === content.stamp
    return isSame && read_ms > content.newest_ms + settle_ms ? verdict : undefined
  }

  /** The verdict about a skill whose folder is missing or can't be read. @param before the verdict before that */
  judgeUnread (before: Verdict | undefined): Verdict | undefined {
    if (before?.reason !== 'content') return before
    return { reason: 'changed', quarantined: this.#options.locked, text: 'its folder can\'t be read any more' }
  }

  /** The verdict about a folder whose files change again and again while they are read. */
  unsteady (folder: Folder): Verdict {
    return this.#changed(folder, 'its files are being changed while they are read')
  }

  #changed (folder: Folder, change: string): Verdict {
    const text = `it changed since it was trusted: ${change}; ${this.#remedy(folder)}`
    return { reason: 'changed', quarantined: this.#options.locked, text }
  }

  #remedy ({ name }: Folder): string {
    return `look at it and run: skillet trust ${name}`
  }

  #isInDirectory (path: string): boolean {
    return this.#directories.some(directory => path === directory || path.startsWith(directory + sep))
  }

  #recordOf (place: Place, folder: Folder): TrustRecord | undefined {
    if (place.bundled || this.#isInDirectory(folder.real_path)) return undefined
    const record = this.#records.get(folder.real_path)
    return record?.name === folder.name ? record : undefined
  }

  async #contentOf (path: string): Promise<FolderContent> {
    const walked = this.#walked.get(path) ?? await walkFolder(path)
    this.#walked.delete(path)
    const cached = this.#contents.get(path)
    if (walked.stamp === cached?.stamp) return cached
    this.#contents.delete(path)
    const content = await readFolder(path, { walked })
    this.#contents.set(path, content)
    return content
  }
}

function recorded (looked: Looked): looked is Folder {
  return looked !== undefined && 'real_path' in looked
}
