import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fromHome, type SkillDefinition } from '../../../kernel/index.ts'
import { isCurrent, readablePaths, type ReadablePaths } from './readable-paths.ts'
import { covered, replaced, secretPaths } from './secret-paths.ts'

/** A file, or a folder with all of its content, that a confined command may use. */
export interface AllowedPath { path: string, access: 'read' | 'write' }

/** What rules depend on. */
export type RuledSkill = Pick<SkillDefinition, 'directory' | 'revision'> & {
  permissions: Pick<SkillDefinition['permissions'], 'read'>
}

/** The files that the commands of a skill may use, under an id that no other rules ever had. */
export interface Rules {
  readonly id: number
  readonly paths: readonly AllowedPath[]
}

/** Folders of programs and libraries, without which no command runs. */
const system = [
  '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix', '/snap', '/gnu', '/etc', '/sys'
]

/** How long rules are used before the folders that they divide are looked at again, in milliseconds. */
const look_ms = 1_000
/** The most rules that are kept. */
const rulesMax = 4_096

let lastId = 0

/** Rules by skill, made when they are needed. */
export class RuleBook {
  /** The secret paths that are known by name, whether they exist or not. */
  readonly #named: readonly string[]
  readonly #withSkills: readonly string[]
  /** The secret paths, and what those that are links point to. */
  #secrets: readonly string[]
  readonly #rules = new Map<string, Rules>()
  #readable: { whole: ReadablePaths, looked_ms: number } | undefined

  /**
   * @param own files and folders of Skillet itself, which no confined command may read
   * @param withSkills folders of Skillet itself that hold skills: only these skills may read their own folder there
   */
  constructor (own: readonly string[], withSkills: readonly string[] = []) {
    this.#named = secretPaths(homedir(), [...own, ...withSkills])
    this.#withSkills = withSkills
    this.#secrets = withTargets(this.#named)
  }

  /** The secret paths that exist, for the helpers, which hide them. */
  get secrets (): string[] {
    const shown = new Set([...replaced, ...withTargets(this.#withSkills)])
    return this.#secrets.filter(path => !shown.has(path) && existsSync(path))
  }

  /** Whether a path lies in what is secret, and so can't be opened by its name. */
  holds (path: string): boolean {
    const [place = path] = real(path)
    return this.#secrets.some(secret => !replaced.includes(secret) && isIn(place, secret))
  }

  /** A secret path that is, holds, or is held by this path. */
  secretWithin (path: string): string | undefined {
    const [place = path] = real(path)
    return this.#secrets.find(secret => {
      // Of the machine's own /tmp.
      if (replaced.includes(secret) && isIn(place, '/tmp') && place !== '/tmp') return false
      return isIn(secret, place) || isIn(place, secret)
    })
  }

  /** The secret paths that exist now in a folder, other than the folder itself. */
  secretsBelow (path: string): string[] {
    const [place = path] = real(path)
    return withTargets(this.#named).filter(secret => secret !== place && isIn(secret, place) && existsSync(secret))
  }

  /**
   * The rules for a command.
   * @param cwd its absolute working directory, which it may read where it may read anything
   * @param writable absolute paths that it may write to
   * @param homeless whether it may read of the home directory only its own folder and what is named
   */
  rulesFor (
    { directory, revision, permissions: { read } }: RuledSkill,
    cwd: string,
    writable: readonly string[],
    homeless = false
  ): Rules {
    const readable = this.#whole()
    const named = read?.flatMap(path => real(resolve(directory, fromHome(path))))
    const key = JSON.stringify([directory, revision, named, named === undefined ? cwd : '', writable, homeless])
    const cached = this.#rules.get(key)
    if (cached !== undefined) return cached
    const base = named === undefined
      ? homeless ? this.#outside(homedir()) : readable.paths
      : readable.paths.filter(path => isSystem(path) && !isIn(path, homedir()))
    const own = [...real(directory), ...(named ?? this.#unlessSecret(cwd).flatMap(real))]
    const reading = [...base, ...own.flatMap(path => readablePaths(path, this.#below(path)).paths)]
    const rules: Rules = {
      id: ++lastId,
      paths: [
        ...reading.map(path => ({ path, access: 'read' as const })),
        ...writable.map(path => ({ path, access: 'write' as const }))
      ]
    }
    if (this.#rules.size >= rulesMax) this.#rules.clear()
    this.#rules.set(key, rules)
    return rules
  }

  /** What is readable and does not belong to the home directory, by whatever path. */
  #outside (home: string): readonly string[] {
    return readablePaths('/', [...this.#secrets, ...withTargets([home])]).paths
  }

  /** The secrets in a folder that a skill names, other than the folder itself. */
  #below (path: string): string[] {
    return this.#secrets.filter(secret => secret !== path && isIn(secret, path))
  }

  /** A working directory in a folder of which commands have their own is shown to them, unless it is secret. */
  #unlessSecret (cwd: string): string[] {
    const isCovered = covered.some(folder => cwd !== folder && isIn(cwd, folder))
    const isSecret = this.#secrets.some(secret => !replaced.includes(secret) && isIn(cwd, secret))
    return isCovered && !isSecret ? [cwd] : []
  }

  /** What is readable, and so all rules, is found anew when a folder that holds secrets has changed. */
  #whole (): ReadablePaths {
    const now = performance.now()
    const cached = this.#readable
    if (cached !== undefined && now - cached.looked_ms < look_ms) return cached.whole
    if (cached !== undefined && isCurrent(cached.whole)) {
      cached.looked_ms = now
      return cached.whole
    }
    this.#secrets = withTargets(this.#named)
    const whole = readablePaths('/', this.#secrets)
    this.#readable = { whole, looked_ms: now }
    this.#rules.clear()
    return whole
  }
}

function withTargets (paths: readonly string[]): string[] {
  return [...new Set([...paths, ...paths.flatMap(real)])]
}

/** Whether a path is a folder of the system, or in one. */
function isSystem (path: string): boolean {
  return system.some(folder => isIn(path, folder))
}

/** Whether a path is a folder, or in it. */
function isIn (path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`)
}

/** The path without symbolic links; nothing where it does not exist. */
export function real (path: string): string[] {
  try {
    return [realpathSync(path)]
  } catch {
    return []
  }
}
