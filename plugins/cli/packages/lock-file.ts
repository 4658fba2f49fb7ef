import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { changeFile, isAbsent, isObject, messageOf, SKILL_NAME } from '../../../kernel/index.ts'

/** A skill that was installed. */
export interface LockEntry {
  name: string
  /** The source, as `parseSource` reads it. */
  source: string
  /** The folder of the skill in the files of the source; empty when they are one skill. */
  path: string
  /** What exactly was fetched. */
  resolved: string
  /** The hash of the skill's content, as `skillet trust` has it. */
  hash: string
  /** When it was installed or updated, as an ISO 8601 time in UTC. */
  at: string
}

const version = 1

/** The skills that were installed from a source: `skills.lock.json` in the user's configuration directory. */
export class LockFile {
  readonly path: string

  constructor (directory: string) {
    this.path = join(directory, 'skills.lock.json')
  }

  /** The entries, by name. @throws Error when the file is damaged */
  read (): LockEntry[] {
    try {
      return parse(readFileSync(this.path, 'utf8'))
    } catch (error) {
      if (isAbsent(error)) return []
      throw new Error(`${this.path} can't be read: ${messageOf(error)}; mend it, or remove it`, { cause: error })
    }
  }

  /** Adds an entry in place of an earlier one of the same name. */
  async put (entry: LockEntry): Promise<void> {
    await this.#change(entries => [...entries.filter(({ name }) => name !== entry.name), entry])
  }

  async remove (removed: string): Promise<void> {
    await this.#change(entries => entries.filter(({ name }) => name !== removed))
  }

  async #change (change: (entries: LockEntry[]) => LockEntry[]): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 })
    await changeFile(this.path, text => {
      const skills = change(text === '' ? [] : parse(text)).sort((a, b) => a.name < b.name ? -1 : 1)
      return `${JSON.stringify({ version, skills }, null, 2)}\n`
    })
  }
}

function parse (text: string): LockEntry[] {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || value['version'] !== version || !Array.isArray(value['skills'])) {
    throw new Error(`it must hold "version": ${version} and a list "skills"`)
  }
  return value['skills'].map((entry: unknown, i) => {
    if (!isEntry(entry)) throw new Error(`skills/${i} is no entry of an installed skill`)
    return entry
  })
}

function isEntry (value: unknown): value is LockEntry {
  const fields = ['name', 'source', 'path', 'resolved', 'hash', 'at']
  return isObject(value) && fields.every(field => typeof value[field] === 'string')
    && SKILL_NAME.test(String(value['name']))
}
