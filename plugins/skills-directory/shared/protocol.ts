import type { MessagePort } from 'node:worker_threads'
import type { QuarantinedSkill, SkillDefinition, SkillWarning } from '../../../kernel/index.ts'

/** The border between the main thread and the thread that describes skills: everything that crosses it is here. */

/** What the thread is started with. */
export interface DescriberData {
  /** Where built TypeScript skills are kept; it is made when needed. */
  cache_dir: string
  /** What `skillet/skill` means to a built skill: absolute path of the compiled kernel/skill.js. */
  skill_module: string
}

/** What the thread is given beside that: its end of a port that modules are not given. */
export interface ThreadData extends DescriberData { port: MessagePort }

export type Request =
  | { type: 'describe', folders: Folder[] }
  /**
   * Builds modules, as far as they can be built, without running them: many at once take a fraction of one after
   * another.
   */
  | { type: 'build', folders: Folder[] }
  | { type: 'prune' }

export type Reply =
  | { type: 'ready' }
  /** In the order of the folders. */
  | { type: 'described', descriptions: Description[] }
  | { type: 'built' }
  | { type: 'pruned', removed: number }

/** A folder that holds a skill. */
export interface Folder {
  name: string
  path: string
  /** Without symbolic links. */
  real_path: string
  /** Differs when the folder was replaced by another. */
  identity: string
  /** Whether it holds a module, which is run to describe the skill. */
  module: boolean
  /** Differs whenever the skill may. */
  revision: string
}

/**
 * One clear line, and the file or folder it is about. `outside`: files elsewhere that may mend it, be they there or
 * not.
 */
export interface Fault { name: string, path: string, error: string, outside?: string[] }

/** A skill as its folder tells it; `trusted` is the main thread's to say, which ran nothing of it. */
export type DescribedSkill = Omit<SkillDefinition, 'trusted'>

/**
 * A skill, its tools that can't be served, what is odd about it, and the files it was built from that its folder's
 * revision does not cover.
 */
export interface Described { skill: DescribedSkill, broken: QuarantinedSkill[], warnings: SkillWarning[], outside: string[] }

/** What a folder holds. */
export type Description =
  | Described & { ran_code: boolean }
  | { fault: Fault, ran_code: boolean }
