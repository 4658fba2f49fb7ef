import type { QuarantinedSkill, SkillWarning } from './status.ts'
import type { SkillDefinition } from './skill.ts'

export interface LoadedSkills {
  skills: SkillDefinition[]
  quarantined: QuarantinedSkill[]
  /** Warnings about skills that were loaded nevertheless. */
  warnings?: SkillWarning[]
}

/** A source of skills. A skill of a later source shadows a skill of the same name from an earlier source. */
export interface SkillSource {
  /** @param only the name of the only skill that the caller needs: the source may leave out all other skills */
  load (signal: AbortSignal, only?: string): Promise<LoadedSkills>
  /**
   * Watches the source: calls `changed` when `load` would return a different result, possibly at once. The kernel calls
   * `watch` after the first `load`, and only when it has transports: a command that ends soon does not need a watch.
   * The returned function stops the watch.
   */
  watch? (changed: () => void): () => void | Promise<void>
}
