import type { Config, SkillDefinition } from '../../kernel/index.ts'

/** Why tools of a skill may run in a sandbox only; undefined when they may run without one. */
export function sandboxDemand (
  { trusted, permissions: { isolation } }: SkillDefinition, mode: Config['isolation']['mode']
): string | undefined {
  if (isolation !== undefined) return `its permissions.isolation = "${isolation}"`
  return mode === 'required' && !trusted ? 'isolation.mode = "required"' : undefined
}
