import { resolve } from 'node:path'
import { fromHome, isObject, type Task } from '../../../kernel/index.ts'
import { ConfinementError } from './confinement-policy.ts'
import { real, type RuleBook } from './rules.ts'

/**
 * The absolute paths that a run may write to, by the permissions of its skill.
 * @param cwd its absolute working directory
 * @throws ConfinementError when one of them holds a secret
 */
export function writablePaths (
  book: RuleBook, { skill, parameters }: Pick<Task, 'skill' | 'parameters'>, cwd: string
): string[] {
  return skill.permissions.write.flatMap(entry => {
    const path = pathOf(entry, parameters)
    if (path === undefined) return []
    const absolute = resolve(cwd, fromHome(path))
    const secret = book.secretWithin(absolute)
    if (secret !== undefined) {
      throw new ConfinementError(`${skill.name} may not write to ${absolute}: it holds ${secret}`)
    }
    return real(absolute) // what does not exist can't be made writable
  })
}

/** A path of the permissions: a placeholder is the value of a parameter, where it was given. */
export function pathOf (entry: string, parameters: unknown): string | undefined {
  const name = /^\{\{(\w+)\}\}$/.exec(entry)?.[1]
  if (name === undefined) return entry
  const value = isObject(parameters) ? parameters[name] : undefined
  return typeof value === 'string' && !value.includes('\0') ? value : undefined
}
