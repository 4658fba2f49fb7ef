import { isServersOwn } from '../../kernel/index.ts'

/** The environment of a thread of the program, without the server's secrets and without Skillet's own settings. */
export function environmentForThread (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isServersOwn(name) && !name.startsWith('SKILLET_')))
}

/** The variables that every command gets from the server's environment, where they are set. */
const always = ['PATH', 'LANG', 'TZ', 'TMPDIR']

/** The environment of a command: the variables that every program needs to run, and those that its skill declares. */
export function environmentOf (
  declared: readonly string[],
  from: NodeJS.ProcessEnv = process.env
): Record<string, string> {
  const locale = Object.keys(from).filter(name => name.startsWith('LC_'))
  return Object.fromEntries([...always, ...locale, ...declared].flatMap(name => {
    const value = Object.hasOwn(from, name) && !isServersOwn(name) ? from[name] : undefined
    return value === undefined ? [] : [[name, value]]
  }))
}
