import { schemas, type Confinement } from '../../../kernel/index.ts'

/** What this machine lacks for each level of isolation; undefined where it has all. */
export type Lacking = Readonly<Record<Confinement, string | undefined>>

/**
 * The strongest level up to one that a machine can give.
 * @param least the level below which nothing may run
 * @returns undefined when there is none
 */
export function levelWithin (
  lacking: Lacking, wanted: Confinement, least: Confinement | undefined
): Confinement | undefined {
  const from = least === undefined ? 0 : schemas.CONFINEMENTS.indexOf(least)
  const to = schemas.CONFINEMENTS.indexOf(wanted)
  return schemas.CONFINEMENTS.slice(from, to + 1).findLast(level => lacking[level] === undefined)
}

/** What does not hold where a level can't be had and the next weaker one takes its place. */
export const promises: Readonly<Record<Confinement, string>> = {
  sandbox: 'tools can read, change and reach what your user can',
  strict: 'tools can read the home directory except secrets, and what commands of the same skill put into shared memory and temporary files'
}
