import type { SkillDefinition } from '../../kernel/index.ts'

/** The border between the main thread and the thread that reads skills: everything that crosses it is here. */

/** What the thread is started with. */
export interface DescriberData {
  /** Where built TypeScript skills are kept; it is made when needed. */
  cache_dir: string
  /** What `skillet/skill` means to a built skill: absolute path of the compiled kernel/skill.js. */
  skill_module: string
}

export type Request =
  | { type: 'list', directory: string }
  | { type: 'describe', folder: string }
  | { type: 'prune' }

export type Reply =
  | { type: 'ready' }
  | { type: 'listed', listing: Listing }
  | { type: 'described', description: Description }
  | { type: 'pruned', removed: number }

/** The folders of a directory that hold a skill. */
export interface Listing {
  folders: Folder[]
  /** Folders without a skill in them. */
  ignored: number
  /** What is wrong with the directory or one of its entries. */
  faults: Fault[]
  /** Whether the directory is there at all. */
  found: boolean
}

export interface Folder {
  name: string
  path: string
  /** Without symbolic links. */
  real_path: string
}

/** One clear line, and the file or folder it is about. */
export interface Fault { name: string, path: string, error: string }

/** What a folder holds; `trusted` is the main thread's to say, which ran nothing of it. */
export type Description =
  | { skill: Omit<SkillDefinition, 'trusted'>, ran_code: boolean }
  | { fault: Fault, ran_code: boolean }
