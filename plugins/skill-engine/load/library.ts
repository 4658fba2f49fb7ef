import { realpath, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { type LoadedSkills, type Logger, type Secrets, type SkillDefinition } from '../../../kernel/index.ts'
import { skillNameOf } from '../text/names.ts'
import { CodeCache } from './code-cache.ts'
import { defineSkill } from './define-skill.ts'
import { foldersIn } from './files.ts'
import { knownFiles } from './folder.ts'
import { readDirectory, type Found } from './read-folder.ts'

export interface LibraryOptions {
  directories: readonly string[]
  trusted: readonly string[]
  /** Whether skills that are not trusted are kept from serving. */
  locked: boolean
  /** The programs that results may name. */
  programs: readonly string[]
  /** Where built code is kept. */
  cache_dir: string
  /** How long describing one skill may take, in milliseconds. */
  describe_ms: number
  /** Memory of code, in bytes. */
  heap_bytes_max: number
  secrets: Secrets & { path?: string }
  log: Logger
}

/** The skills of the configured directories. */
export class Library {
  readonly #options: LibraryOptions
  readonly #codes: CodeCache
  /** The folders of the skills at the last load, and the files of which code was built. */
  #folders: string[] = []
  #inputs: string[] = []
  /** One load at a time: loads that come during one wait for it, and then load again. */
  #last: Promise<unknown> = Promise.resolve()

  constructor (options: LibraryOptions) {
    const { cache_dir, describe_ms, heap_bytes_max, log } = options
    this.#options = options
    this.#codes = new CodeCache({ cache_dir, limit_ms: describe_ms, heap_bytes_max }, log)
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
    for (const directory of this.#options.directories) {
      for (const found of await readDirectory(directory, this.#codes, signal)) await this.#add(found, loaded, taken)
    }
    return loaded
  }

  /** @param taken the folders of the skills that serve, by name */
  async #add (found: Found, loaded: Required<LoadedSkills>, taken: Map<string, string>): Promise<void> {
    const refuse = (name: string, path: string, reason: string, message: string): void => {
      loaded.quarantined.push({ name: skillNameOf(name) || 'unnamed', path, error: `${reason}: ${message}` })
    }
    if ('reason' in found && 'message' in found) return refuse(found.name, found.path, found.reason, found.message)
    const { codes, ...options } = { ...this.#options, codes: this.#codes }
    const trusted = await isWithin(found.folder, options.trusted)
    this.#folders.push(found.folder)
    this.#inputs.push(...found.code?.inputs ?? [])
    const other = taken.get(found.name)
    if (other !== undefined) {
      return refuse(found.name, found.folder, 'name-taken', `the skill in ${other} has this name already`)
    }
    if (options.locked && !trusted) {
      return refuse(found.name, found.folder, 'not-trusted', 'skills.locked keeps it from serving: name its directory in plugin.skill-engine.trusted')
    }
    const { skills, warnings } = await defineSkill(found, { ...options, codes, trusted })
    loaded.warnings.push(...warnings)
    for (const skill of skills) this.#serve(skill, loaded, taken, refuse)
  }

  #serve (
    skill: SkillDefinition, { skills }: LoadedSkills, taken: Map<string, string>,
    refuse: (name: string, path: string, reason: string, message: string) => void
  ): void {
    const other = taken.get(skill.name)
    if (other !== undefined) {
      return refuse(skill.name, skill.directory, 'name-taken', `the skill in ${other} has this name already`)
    }
    taken.set(skill.name, skill.directory)
    skills.push(skill)
  }

  /** A text that differs when a file of the skills, of their directories, or of the user's secrets changed. */
  async stamp (): Promise<string> {
    const { directories, secrets } = this.#options
    const paths = new Set<string>(this.#inputs)
    if (secrets.path !== undefined) paths.add(secrets.path)
    const folders = new Set(this.#folders)
    for (const directory of directories) {
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

/** Whether a folder lies in one of these directories, links followed. */
async function isWithin (folder: string, directories: readonly string[]): Promise<boolean> {
  const real = await realpath(folder).catch(() => undefined)
  if (real === undefined) return false
  for (const directory of directories) {
    const place = await realpath(directory).catch(() => undefined)
    if (place === undefined) continue
    if (real === place || real.startsWith(place === dirname(place) ? place : `${place}${sep}`)) return true
  }
  return false
}
