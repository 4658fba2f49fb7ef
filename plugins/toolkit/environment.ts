import { isServersOwn } from '../../kernel/index.ts'

/** The environment of a thread of the program, without the server's secrets and without Skillet's own settings. */
export function environmentForThread (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isServersOwn(name) && !name.startsWith('SKILLET_')))
}
