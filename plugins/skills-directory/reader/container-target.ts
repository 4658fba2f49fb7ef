import type { JsonObject, ManifestFrame, SkillDefinition } from '../../../kernel/index.ts'
import { asTarget } from '../../toolkit/container/spec.ts'
import { refuseReadVariables } from '../../toolkit/container/variables.ts'

/**
 * The container of a skill, as its tools' target.
 * @throws Error when the manifest names none, or asks for what a container can't be given
 */
export function containerTarget (
  { container }: ManifestFrame, { tools, permissions }: Pick<SkillDefinition, 'tools' | 'permissions'>
): JsonObject {
  if (container === undefined) throw new Error('runtime = "container" needs a table [container] with an image')
  if (typeof permissions.network !== 'boolean') {
    throw new Error('permissions/network: a container has all of the network or none: say true or false')
  }
  const parameters = new Set(tools.flatMap(tool => tool.parameters.map(parameter => parameter.name)))
  for (const [kind, paths] of [['read', permissions.read ?? []], ['write', permissions.write]] as const) {
    for (const path of paths) refuseUnmountable(kind, path, parameters)
  }
  for (const { name, command = {} } of tools) {
    try {
      refuseReadVariables(command, permissions.secrets)
    } catch (error) {
      throw new Error(`tool "${name}": ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
  return asTarget(container)
}

/** @throws Error for a path that is neither absolute nor in the home directory nor wholly the value of a parameter */
function refuseUnmountable (kind: string, path: string, parameters: ReadonlySet<string>): void {
  const placeholder = /^\{\{(\w+)\}\}$/.exec(path)?.[1]
  const isPath = /^(\/|~\/|~$)/.test(path) && !path.includes('{{')
  if (placeholder === undefined ? isPath : parameters.has(placeholder)) return
  throw new Error(`permissions/${kind}: "${path}" must be absolute, begin with "~", or be nothing but a placeholder`)
}
