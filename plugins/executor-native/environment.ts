import { isServersOwn, type JsonObject } from '../../kernel/index.ts'

/** What every command gets of the server's environment, where it is set. */
const always = ['PATH', 'LANG', 'TZ', 'TMPDIR']

/** The environment of a command: the least a program needs to run, and what its skill declares. */
export function environmentOf (declared: readonly string[], from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const locale = Object.keys(from).filter(name => name.startsWith('LC_'))
  return Object.fromEntries([...always, ...locale, ...declared].flatMap(name => {
    const value = Object.hasOwn(from, name) && !isServersOwn(name) ? from[name] : undefined
    return value === undefined ? [] : [[name, value]]
  }))
}

/**
 * What a command of a skill that reads files for callers is to refuse, a path a line.
 * @param config what the skill is given
 */
export function privatePathsOf ({ private_paths }: JsonObject): Record<string, string> {
  return { SKILLET_PRIVATE_PATHS: Array.isArray(private_paths) ? private_paths.join('\n') : '' }
}
