/**
 * The names of skills, instances and tools, and how they are put together: `github` is a skill, `github@work` an
 * instance of it, `github@work:log` a tool with the configuration of this instance.
 */

/**
 * The skill names that a manifest may declare. A request may name any string; for an unknown name the answer is that
 * the skill does not exist.
 */
export const SKILL_NAME = /^[a-z0-9-]{1,64}$/
/** The names of instances. */
export const INSTANCE_NAME = /^[a-z0-9-]{1,64}$/
/** The tool names that a manifest may declare. */
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/
/** The name of a skill, with or without an instance. */
export const CONFIGURED_NAME = /^[a-z0-9-]{1,64}(@[a-z0-9-]{1,64})?$/

/** The parts of a name such as `github@work`; `github` has no instance. */
export function splitInstance (name: string): { skill: string, instance: string | undefined } {
  const at = name.indexOf('@')
  return at === -1
    ? { skill: name, instance: undefined }
    : { skill: name.slice(0, at), instance: name.slice(at + 1) }
}

/** The name of an instance of a skill, such as `github@work`. */
export function instanceName (skill: string, instance: string): string {
  return `${skill}@${instance}`
}

/** Whether a run of `name` is one that was asked for: `github` asks for runs of the skill and of all its instances. */
export function isAskedFor (name: string, asked: string): boolean {
  return name === asked || splitInstance(name).skill === asked
}

/** The parts of a name such as `github@work:log`; `github@work` has no tool. The first colon separates them. */
export function splitTool (name: string): { skill_name: string, tool_name: string | undefined } {
  const colon = name.indexOf(':')
  return colon === -1
    ? { skill_name: name, tool_name: undefined }
    : { skill_name: name.slice(0, colon), tool_name: name.slice(colon + 1) }
}
