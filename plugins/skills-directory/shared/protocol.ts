import type { MessagePort } from 'node:worker_threads'
import type { Permissions, QuarantinedSkill, SkillDefinition, SkillWarning } from '../../../kernel/index.ts'
import type { Exported } from '../reader/exported.ts'

/** The messages between the main thread and the thread that describes skills; no other data passes between them. */

/** The data with which the thread is started. */
export interface DescriberData {
  /** The cache directory for built TypeScript skills; created when needed. */
  cache_dir: string
  /** The folder with the lists of tools of MCP servers. */
  lists_folder: string
  /** The module that a built skill imports as `skillet/skill`: absolute path of the compiled kernel/skill.js. */
  skill_module: string
  /** What is built into the modules of skills in WebAssembly: absolute path of the compiled host of programs. */
  wasm_host: string
}

/** The additional start data of the thread: its end of a port, to which modules have no access. */
export interface ThreadData extends DescriberData { port: MessagePort }

export type Request =
  | { type: 'describe', folders: FolderToRead[] }
  /**
   * Builds modules, if they can be built, without running them: building many at once takes a fraction of the time of
   * building them one after another.
   */
  | { type: 'build', folders: Folder[] }
  | { type: 'prune' }

export type Reply =
  | { type: 'ready' }
  /** The descriptions, in the order of the folders. */
  | { type: 'described', descriptions: Description[] }
  | { type: 'built' }
  | { type: 'pruned', removed: number }

/** A folder with a skill. */
export interface Folder {
  name: string
  path: string
  /** The path without symbolic links. */
  real_path: string
  /** A text that differs when the folder was replaced by another one. */
  identity: string
  /** Whether it contains a module, which is run to describe the skill. */
  module: boolean
  /** A text that differs whenever the skill may differ. */
  revision: string
}

/** A folder that is to be described. */
export interface FolderToRead extends Folder {
  /** Whether its module may be imported in the thread. */
  in_thread: boolean
  /** What a confined process found in this built module. */
  exported?: { module: string, found: Exported }
}

/**
 * A built module that a confined process must import before its skill can be described, and what the manifest says of
 * this process.
 */
export interface Awaiting extends Pick<Permissions, 'isolation' | 'read' | 'env'> {
  /** The file of the skill of which it was built. */
  path: string
  module: string
  /** As in a description. */
  outside: string[]
}

/**
 * A fault in one line, and the file or folder with the fault. `outside`: files elsewhere, existing or missing, whose
 * change may solve the problem.
 */
export interface Fault { name: string, path: string, error: string, outside?: string[] }

/** A skill as its folder describes it. The main thread, which runs none of its code, sets `trusted`. */
export type DescribedSkill = Omit<SkillDefinition, 'trusted'>

/**
 * A skill, its tools that can't be served, warnings, and the files from which it was built but which its folder's
 * revision does not cover.
 */
export interface Described {
  skill: DescribedSkill
  broken: QuarantinedSkill[]
  warnings: SkillWarning[]
  outside: string[]
  /** When the description was begun, in milliseconds since 1970. The main thread sets it. */
  read_ms?: number
}

/** The contents of a folder. */
export type Description =
  | Described & { ran_code: boolean }
  | { fault: Fault, ran_code: boolean }
  | { awaiting: Awaiting, ran_code: false }
