import type { JsonObject, SkillDefinition, ToolDefinition } from '../../../kernel/index.ts'

/** The container in which tools run: the `target` of a skill with `runtime = "container"`, or of a tool. Plain data. */
export interface ContainerSpec {
  /** The name of the image; it does not begin with `-`. */
  image: string
  /** The absolute path in the container at which the skill's folder is mounted, for reading; absent: it is not. */
  folder?: string
  /** The user in the container; absent: the engine's default, or the server's user. */
  user?: string
  /**
   * Options of `run` that the user's own manifest gives in place of the mounts, the network and the memory that the
   * permissions of a skill become.
   */
  run_options?: string[]
  /** Whether the image's own entry point gets the arguments, in place of the program of the command. */
  own_program?: boolean
}

/** The pattern of the name of an image: never an option, with a tag or a digest. */
export const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/

/** The container of a tool. @throws Error for a tool that no source made for containers */
export function containerOf (skill: SkillDefinition, tool: ToolDefinition): ContainerSpec {
  const target = tool.target ?? skill.target
  if (!isContainerSpec(target)) throw new Error(`the tool ${tool.name} does not say in which container it runs`)
  return target
}

/** A specification as a skill's or a tool's target. */
export function asTarget (spec: ContainerSpec): JsonObject {
  return { ...spec }
}

function isContainerSpec (target: JsonObject | undefined): target is JsonObject & ContainerSpec {
  if (target === undefined || typeof target['image'] !== 'string') return false
  const { folder, user, run_options, own_program } = target
  const isText = (value: unknown): boolean => value === undefined || typeof value === 'string'
  const isFlag = own_program === undefined || typeof own_program === 'boolean'
  const isList = run_options === undefined
    || (Array.isArray(run_options) && run_options.every(item => typeof item === 'string'))
  return IMAGE.test(target['image']) && isText(folder) && isText(user) && isFlag && isList
}
