import type { Config, InstanceSettings } from '../contracts/config.ts'
import { instanceName } from '../contracts/names.ts'
import type { Skill } from '../contracts/schemas.ts'
import type { SkillDefinition, SkillInstance } from '../contracts/skill.ts'
import { SkilletError } from '../lib/errors.ts'

/** Adds to skills the instances that the configuration declares. */
export class ConfiguredInstances {
  readonly #instances = new Map<string, readonly SkillInstance[]>()

  /** @throws Error when two instances of a skill are the default */
  constructor (config: Pick<Config, 'skills'>) {
    for (const [skill, instances] of Object.entries(config.skills.instances)) {
      const fault = faultOfInstances(skill, instances)
      if (fault !== undefined) throw new Error(fault)
      const all = Object.entries(instances).map(([name, { description, default: isDefault }]): SkillInstance => ({
        name, ...(description !== undefined && { description }), ...(isDefault && { default: true })
      }))
      if (all.length > 0) this.#instances.set(skill, all.toSorted(inOrder))
    }
  }

  /** The names of the skills that have instances in the configuration. */
  get skills (): string[] {
    return [...this.#instances.keys()]
  }

  /** The skill with its instances. A skill whose source declares instances keeps those only. */
  of (skill: SkillDefinition): SkillDefinition {
    const instances = this.#instances.get(skill.name)
    return instances === undefined || skill.instances !== undefined ? skill : { ...skill, instances }
  }
}

/** The fault of the instances that the configuration declares for a skill, if they have one. */
export function faultOfInstances (
  skill: string, instances: Readonly<Record<string, InstanceSettings>>
): string | undefined {
  const defaults = Object.keys(instances).filter(name => instances[name]?.default === true)
  return defaults.length < 2
    ? undefined
    : `skills.instances.${skill}: only one instance can be the default, not ${defaults.join(' and ')}`
}

/** The default first, then by name. */
function inOrder (a: SkillInstance, b: SkillInstance): number {
  if (a.default !== b.default) return a.default === true ? -1 : 1
  return a.name < b.name ? -1 : 1
}

/** The definitions of instances, by that of their skill: the same objects as long as the skill is the same. */
const made = new WeakMap<SkillDefinition, Map<string, SkillDefinition>>()

/** The definition with which the tools of an instance run; undefined when the skill has no such instance. */
export function definitionOf (skill: SkillDefinition, instance: string): SkillDefinition | undefined {
  const declared = skill.instances?.find(({ name }) => name === instance)
  if (declared === undefined) return undefined
  let definitions = made.get(skill)
  if (definitions === undefined) made.set(skill, definitions = new Map())
  let definition = definitions.get(instance)
  if (definition === undefined) definitions.set(instance, definition = define(skill, declared))
  return definition
}

function define (skill: SkillDefinition, { name, definition = skill }: SkillInstance): SkillDefinition {
  const { instances: _instances, digest: _digest, ...rest } = definition
  return { ...rest, name: instanceName(skill.name, name), revision: `${rest.revision}@${name}` }
}

/** All definitions with which the tools of a skill can run, the default first. */
export function definitionsOf (skill: SkillDefinition): SkillDefinition[] {
  return skill.instances?.flatMap(({ name }) => definitionOf(skill, name) ?? []) ?? [skill]
}

/** The names that a call can use as its skill; undefined when the skill has no instances. */
export function instanceNames ({ name, instances }: SkillDefinition): string[] | undefined {
  return instances?.map(instance => instanceName(name, instance.name))
}

/** The instances of a skill as users see them; undefined when the skill has none. */
export function instanceSummaries ({ name, instances }: SkillDefinition): Skill['instances'] {
  return instances?.map(({ name: instance, description, default: isDefault }) => ({
    name: instanceName(name, instance),
    ...(description !== undefined && { description }),
    ...(isDefault === true && { default: true })
  }))
}

/**
 * The definition with which a call runs that names no instance: that of the default, or of the only instance.
 * @throws SkilletError INVALID_PARAMETERS naming the instances, when there are several and none is the default
 */
export function chosenDefinition (skill: SkillDefinition): SkillDefinition {
  const { name, instances } = skill
  if (instances === undefined) return skill
  const only = instances.length === 1 ? instances[0] : undefined
  const chosen = instances.find(instance => instance.default === true) ?? only
  const definition = chosen === undefined ? undefined : definitionOf(skill, chosen.name)
  if (definition !== undefined) return definition
  const names = instanceNames(skill) ?? []
  throw new SkilletError(
    'INVALID_PARAMETERS',
    `The skill "${name}" has several instances; name one of them as the skill: ${names.join(', ')}`,
    { skill: name, instances: names }
  )
}

/** The error for an instance that a skill does not have. */
export function instanceNotFound (skill: SkillDefinition, instance: string): SkilletError {
  const { name, instances = [] } = skill
  const why = instances.length === 0
    ? ': it has no instances'
    : `; it has ${(instanceNames(skill) ?? []).join(', ')}`
  const message = `The skill "${name}" has no instance "${instance}"${why}`
  return new SkilletError('SKILL_NOT_FOUND', message, { skill: instanceName(name, instance) })
}
