import { schemas, type Config, type Confinement, type SkillDefinition } from '../../kernel/index.ts'

/** The level of isolation below which tools of a skill may not run, and what says so. */
export interface Demand { level: Confinement, why: string }

/** What decides how a skill is confined. */
export type ConfinedSkill = Pick<SkillDefinition, 'name' | 'trusted'> & {
  permissions: Pick<SkillDefinition['permissions'], 'isolation'>
}

type Settings = Pick<Config['isolation'], 'mode' | 'level'>

/** What tools of a skill need at least; undefined when they may run without any confinement. */
export function demandOf (
  { trusted, permissions: { isolation: own } }: ConfinedSkill, { mode, level }: Settings
): Demand | undefined {
  const required = mode === 'required' && !trusted ? level : undefined
  if (own === undefined && required === undefined) return undefined
  const settings = `isolation.mode = "required"${level === 'sandbox' ? '' : `, isolation.level = "${level}"`}`
  return own !== undefined && strongest(own, required) === own
    ? { level: own, why: `its permissions.isolation = "${own}"` }
    : { level, why: settings }
}

/** The stronger of two levels, each of which may be missing. */
export function strongest (a: Confinement | undefined, b: Confinement | undefined): Confinement | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return isAtLeast(a, b) ? a : b
}

/** Whether a level is another or a stronger one. */
export function isAtLeast (level: Confinement, other: Confinement): boolean {
  return schemas.CONFINEMENTS.indexOf(level) >= schemas.CONFINEMENTS.indexOf(other)
}
