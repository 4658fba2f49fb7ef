import type { QuarantinedSkill, SkillWarning } from './schemas.ts'
import type { SkillDefinition } from './skill.ts'

export interface LoadedSkills {
  skills: SkillDefinition[]
  quarantined: QuarantinedSkill[]
  /** What is odd about skills that were loaded all the same. */
  warnings?: SkillWarning[]
}

/** Finds skills. Later sources shadow earlier ones of the same name. */
export interface SkillSource {
  /** @param only the name of the one skill that is asked for: others may be left out */
  load (signal: AbortSignal, only?: string): Promise<LoadedSkills>
  /**
   * Calls back when `load` would give something else, be it at once. Called after the first `load`, and only in a
   * kernel with transports: a command that ends soon has no use for it. The returned function stops it.
   */
  watch? (changed: () => void): () => void | Promise<void>
}
