import { isServersOwn, type Task } from '../../kernel/index.ts'

/** The variables of a command: those that its tool sets, those of the server that its skill declares, and secrets. */
export function variablesOf (
  { skill, secrets }: Task, own: Readonly<Record<string, string>>, from: NodeJS.ProcessEnv = process.env
): Record<string, string> {
  const declared = skill.permissions.env.flatMap(name => {
    const value = Object.hasOwn(from, name) && !isServersOwn(name) ? from[name] : undefined
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(declared), ...own, ...secrets }
}
