import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadedSkills, Secrets } from '../../../kernel/index.ts'
import { skillNameOf } from '../text/names.ts'
import type { CodeCache } from './code-cache.ts'
import { defineSkill } from './define-skill.ts'
import { Refusal } from './engine-skill.ts'
import type { EngineTrust } from './engine-trust.ts'
import { foldersIn } from './files.ts'
import { knownFiles } from './folder.ts'
import { readDirectory, type Found } from './read-folder.ts'

export interface LibraryOptions {
  /** The directories as they are now: configured ones, and imported ones. */
  directories: () => Promise<readonly string[]>
  trust: EngineTrust
  /** The programs that results may name. */
  programs: readonly string[]
  secrets: Secrets & { path?: string }
  codes: CodeCache
}

/** The skills of the configured directories. */
export class Library {
  readonly #options: LibraryOptions
  /** The folders of the skills at the last load, and the files of which code was built. */
  #folders: string[] = []
  #inputs: string[] = []
  /** One load at a time: loads that come during one wait for it, and then load again. */
  #last: Promise<unknown> = Promise.resolve()

  constructor (options: LibraryOptions) {
    this.#options = options
  }

  /**
   * Reads all directories. Rejects only with the signal's reason, or for a fault of the server.
   * @param only the name of the only skill that the caller needs
   */
  async load (signal: AbortSignal, only?: string): Promise<LoadedSkills> {
    signal.throwIfAborted()
    const loading = this.#last.then(() => this.#load(signal))
    this.#last = loading.catch(() => {})
    const loaded = await loading
    if (only === undefined) return loaded
    const isIt = ({ name }: { name: string }): boolean => name === only
    const { skills, quarantined, warnings = [] } = loaded
    return {
      skills: skills.filter(isIt), quarantined: quarantined.filter(isIt), warnings: warnings.filter(isIt)
    }
  }

  async #load (signal: AbortSignal): Promise<LoadedSkills> {
    const loaded: Required<LoadedSkills> = { skills: [], quarantined: [], warnings: [] }
    const taken = new Map<string, string>()
    this.#folders = []
    this.#inputs = []
    const { directories, codes } = this.#options
    for (const directory of await directories()) {
      for (const found of await readDirectory(directory, codes, signal)) await this.#add(found, loaded, taken)
    }
    return loaded
  }

  /** @param taken the folders of the skills that serve, by name */
  async #add (found: Found, loaded: Required<LoadedSkills>, taken: Map<string, string>): Promise<void> {
    const refuse = (name: string, path: string, reason: string, message: string): void => {
      loaded.quarantined.push({ name: skillNameOf(name) || 'unnamed', path, error: `${reason}: ${message}` })
    }
    if ('reason' in found && 'message' in found) return refuse(found.name, found.path, found.reason, found.message)
    this.#folders.push(found.folder)
    this.#inputs.push(...found.code?.inputs ?? [])
    const other = taken.get(found.name)
    if (other !== undefined) {
      return refuse(found.name, found.folder, 'name-taken', `the skill in ${other} has this name already`)
    }
    let trusted: boolean
    try {
      trusted = await this.#options.trust.admit(found.folder)
    } catch (error) {
      if (error instanceof Refusal) return refuse(found.name, found.folder, error.reason, error.message)
      throw error
    }
    const { skill, warnings } = await defineSkill(found, { ...this.#options, trusted })
    loaded.warnings.push(...warnings)
    taken.set(skill.name, skill.directory)
    loaded.skills.push(skill)
  }

  /** A text that differs when a file of the skills, of their directories, or of the user's secrets changed. */
  async stamp (): Promise<string> {
    const { directories, secrets } = this.#options
    const paths = new Set<string>(this.#inputs)
    if (secrets.path !== undefined) paths.add(secrets.path)
    const folders = new Set(this.#folders)
    for (const directory of await directories()) {
      for (const folder of [directory, ...await foldersIn(directory).catch(() => [])]) folders.add(folder)
    }
    for (const folder of folders) for (const file of ['.', ...knownFiles]) paths.add(join(folder, file))
    const stamps: string[] = []
    for (const path of paths) {
      const stats = await stat(path).catch(() => undefined)
      if (stats !== undefined) stamps.push(`${path} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`)
    }
    return stamps.sort().join('\n')
  }
}
