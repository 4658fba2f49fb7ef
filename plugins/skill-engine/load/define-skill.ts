import { isAbsolute } from 'node:path'
import {
  instanceName, type Secrets, type SkillDefinition, type SkillInstance, type SkillWarning
} from '../../../kernel/index.ts'
import { containerRun, type Container } from '../config/docker.ts'
import { isSecretKey, type Instance, type UnusableInstance } from '../config/instance.ts'
import { programOf, programsOf } from '../run/programs.ts'
import type { RunSettings, Target } from '../run/settings.ts'
import { skillNameOf } from '../text/names.ts'
import type { EngineTool } from '../text/parameters.ts'
import { hashOf, type CodeCache } from './code-cache.ts'
import { containerWay } from './container-way.ts'
import { defineTool, type Way } from './define-tool.ts'
import { defaultInstanceOf, type EngineSkill } from './engine-skill.ts'
import { warningOf } from './note-words.ts'

export interface DefineOptions {
  codes: CodeCache
  secrets: Secrets
  /** The programs that results may name. */
  programs: readonly string[]
  trusted: boolean
}

/** A skill with its instances, and its warnings. */
export interface Defined { skill: SkillDefinition, warnings: SkillWarning[] }

/** The most notes about a skill that are reported. */
const notesMax = 100
/** The most paths that a permission may list. */
const pathsMax = 64

/** Makes the definition of a skill. */
export async function defineSkill (skill: EngineSkill, options: DefineOptions): Promise<Defined> {
  const notes = [...skill.notes]
  const first = defaultInstanceOf(skill)
  const instances: SkillInstance[] = []
  const names = namesOf(skill, first.name ?? 'default', notes)
  for (const [name, instance] of names) {
    const definition = await defineInstance(skill, instanceName(skill.name, name), instance, options, notes)
    const description = 'unusable' in instance ? undefined : instance.description
    instances.push({
      name, definition, ...(description !== undefined && { description }),
      ...(instance === first.instance && { default: true })
    })
  }
  const whole: SkillDefinition = {
    ...instances[0]?.definition ?? await defineInstance(skill, skill.name, first.instance, options, notes),
    name: skill.name,
    ...(instances.length > 0 && { instances })
  }
  const digest = hashOf(JSON.stringify(whole)).slice(0, 32)
  for (const { definition } of instances) if (definition !== undefined) definition.revision = digest
  return { skill: { ...whole, revision: digest, digest }, warnings: warningsOf(skill, notes) }
}

/** The instances of a skill by the names that they have here, the default first. None when the engine has none. */
function namesOf (
  skill: EngineSkill, first: string, notes: string[]
): Map<string, Instance | UnusableInstance> {
  const named = new Map<string, Instance | UnusableInstance>()
  if (skill.instances.size === 0) return named
  named.set(skillNameOf(first) || 'default', skill.instances.get(first) ?? skill.defaults)
  for (const [name, instance] of skill.instances) {
    const here = skillNameOf(name)
    if (name === first) continue
    if (here === '' || named.has(here)) notes.push(`instance-name: ${name}`)
    else named.set(here, instance)
  }
  return named
}

function warningsOf (skill: EngineSkill, notes: readonly string[]): SkillWarning[] {
  const different = [...new Set(notes)]
  const more = different.length > notesMax ? [`and ${different.length - notesMax} more`] : []
  return [...different.slice(0, notesMax), ...more]
    .map(note => ({ name: skill.name, path: skill.folder, warning: warningOf(note) }))
}

/** @param name of the skill, or of its instance, whose secrets it is given */
async function defineInstance (
  skill: EngineSkill, name: string, instance: Instance | UnusableInstance, options: DefineOptions, notes: string[]
): Promise<SkillDefinition> {
  const unusable = 'unusable' in instance ? instance.unusable : undefined
  const usable: Instance | undefined = 'unusable' in instance ? undefined : instance
  const secrets = usable === undefined ? [] : secretsOf(name, usable, options.secrets, notes)
  const settings = settingsOf(usable, secrets)
  const wayOf = unusable === undefined || skill.runtime === 'container'
    ? waysOf(skill, settings, options.programs)
    : refused(`the instance can't be used: ${unusable}`)
  const { tools, code } = skill
  const container = skill.container === undefined || 'unusable' in skill.container ? undefined : skill.container
  const module = code === undefined || unusable !== undefined
    ? undefined
    : await options.codes.present(code.file, tools.map(tool => tool.name), name)
  const definition: Omit<SkillDefinition, 'revision' | 'digest'> = {
    name,
    description: describe(skill),
    version: skill.version,
    runtime: 'skill-engine',
    directory: skill.folder,
    trusted: options.trusted,
    permissions: container !== undefined ? permissionsOf(container) : {
      network: usable === undefined || !usable.network_said || usable.capabilities.network_access,
      write: (usable?.capabilities.allowed_paths ?? []).filter(isAbsolute).slice(0, pathsMax),
      env: [],
      secrets
    },
    tools: tools.map(tool => defineTool(tool, wayOf(tool))),
    ...(skill.instructions !== undefined && { instructions: skill.instructions }),
    ...(module !== undefined && { module })
  }
  const digest = hashOf(JSON.stringify(definition)).slice(0, 32)
  return { ...definition, revision: digest, digest }
}

/** The description, with what the services of a skill add to it. */
function describe ({ description, services }: EngineSkill): string {
  const needs = services.map(({ name, optional }) => optional ? `${name} (optional)` : name)
  return [
    description,
    ...(needs.length === 0 ? [] : [`Speaks to: ${needs.join(', ')}.`])
  ].join(' ').trim()
}

/** The settings whose values are elsewhere, and that the user's secrets have. */
function secretsOf (name: string, { config, secrets }: Instance, from: Secrets, notes: string[]): string[] {
  const wanted = secrets.filter(key => !Object.hasOwn(config, key))
  if (wanted.length === 0) return []
  const valid = wanted.filter(key => /^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(key))
  let missing: readonly string[] = valid
  try {
    missing = from.of(name, valid).missing
  } catch {
    // The file of secrets can't be used, which each run of another skill with secrets tells.
  }
  for (const key of wanted) if (missing.includes(key) || !valid.includes(key)) notes.push(`secret-missing: ${key}`)
  return valid.filter(key => !missing.includes(key))
}

function settingsOf (instance: Instance | undefined, secrets: readonly string[]): RunSettings {
  const config = instance?.config ?? {}
  const named = Object.keys(config).filter(isSecretKey)
  return {
    config,
    env: instance?.env ?? {},
    secret_keys: [...new Set([...instance?.secrets ?? [], ...named, ...secrets])]
  }
}

/** What a container may use is said by its own options: the settings of an instance do not reach it. */
function permissionsOf (container: Container): SkillDefinition['permissions'] {
  return { network: container.network !== 'none', write: [], env: containerRun(container).passed, secrets: [] }
}

const refused = (message: string) => (): Way => ({ target: { kind: 'refused', message } satisfies Target })

/** How the tools of a skill are run. */
function waysOf (skill: EngineSkill, settings: RunSettings, list: readonly string[]): (tool: EngineTool) => Way {
  const { name, runtime, tools, allowedTools, container, reason = 'the skill can\'t be run' } = skill
  const names = tools.map(tool => tool.name)
  switch (runtime) {
    case 'unsupported': return refused(reason)
    case 'script': {
      const programs = [...programsOf(list, allowedTools, names)]
      return () => ({ target: { kind: 'script', settings, programs } satisfies Target })
    }
    case 'container':
      return container === undefined || 'unusable' in container
        ? refused(`the container can't be used: ${container?.unusable ?? 'it is not described'}`)
        : () => containerWay(container)
    case 'native': {
      const program = programOf(name, list, allowedTools, names)
      if (program === undefined) {
        return refused(`no program is known that runs "${name}": name one in allowed-tools of its SKILL.md, and in plugin.skill-engine.programs`)
      }
      return ({ name, parameters }) => {
        const declared = parameters.map(parameter => parameter.name)
        return { target: { kind: 'words', settings, command: [program, name], declared } satisfies Target }
      }
    }
  }
}
