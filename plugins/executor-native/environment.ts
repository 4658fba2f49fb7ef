import { isServersOwn } from '../../kernel/index.ts'

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
