import type { SkillDefinition } from '../../../kernel/index.ts'

/**
 * Why a skill is trusted, or is not: it is `bundled`, lies in a `directory` of `skills.trusted`, or has the `content`
 * that the user trusted; its content has `changed` since, or there is `none` that was trusted.
 */
export type TrustReason = 'bundled' | 'directory' | 'content' | 'changed' | 'none'

/** Whether a skill is trusted, in the present state of its folder. */
export interface Verdict {
  reason: TrustReason
  /** What changed, in one line, with the remedy. */
  text?: string
  /** Whether `skills.locked` keeps the skill from serving. */
  quarantined: boolean
}

export function isTrusted ({ reason }: Verdict): boolean {
  return reason === 'bundled' || reason === 'directory' || reason === 'content'
}

/** The kind of a fault or a warning about trust; undefined for a trusted skill. */
export function trustKind ({ reason }: Verdict): 'changed' | 'none' | undefined {
  return reason === 'changed' || reason === 'none' ? reason : undefined
}

/** The untrusted copies of skills: each skill has one, so that an unchanged skill stays the same object. */
const untrusted = new WeakMap<SkillDefinition, SkillDefinition>()

/** The skill, without its trust where the present state of its folder is not trusted. */
export function asJudged (skill: SkillDefinition, verdict: Verdict): SkillDefinition {
  if (!skill.trusted || isTrusted(verdict)) return skill
  const cached = untrusted.get(skill)
  if (cached !== undefined) return cached
  const copy = { ...skill, trusted: false, ...(skill.digest !== undefined && { digest: `${skill.digest} untrusted` }) }
  untrusted.set(skill, copy)
  return copy
}
