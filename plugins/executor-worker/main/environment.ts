import { isServersOwn } from '../../../kernel/index.ts'

/** What every script thread sees of the environment: nothing that could be a secret. */
const always = new Set(['PATH', 'LANG', 'TZ', 'TMPDIR'])

/** The environment a thread is started with. */
export function threadEnvironment (env: NodeJS.ProcessEnv): Record<string, string> {
  return pick(env, name => always.has(name) || name.startsWith('LC_'))
}

/** The variables a skill declared, as far as they are set. */
export function declaredEnvironment (env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  return names.length === 0 ? {} : pick(env, name => names.includes(name) && !isServersOwn(name))
}

function pick (env: NodeJS.ProcessEnv, wanted: (name: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) if (value !== undefined && wanted(name)) picked[name] = value
  return picked
}
