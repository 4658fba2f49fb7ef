import { isAbsolute } from 'node:path'
import { SKILL_NAME, type Secrets, type SkillDefinition, type SkillWarning } from '../../../kernel/index.ts'
import { containerCommand } from '../config/docker.ts'
import { isSecretKey, type Instance, type UnusableInstance } from '../config/instance.ts'
import { programOf, programsOf } from '../run/programs.ts'
import type { RunSettings, Target } from '../run/settings.ts'
import { instanceNameOf } from '../text/names.ts'
import type { EngineTool } from '../text/parameters.ts'
import { hashOf, type CodeCache } from './code-cache.ts'
import { defineTool } from './define-tool.ts'
import { defaultInstanceOf, type EngineSkill } from './engine-skill.ts'
import { warningOf } from './note-words.ts'

export interface DefineOptions {
  codes: CodeCache
  secrets: Secrets
  /** The programs that results may name. */
  programs: readonly string[]
  trusted: boolean
}

/** A skill as one definition for each instance, the default first; and its warnings. */
export interface Defined { skills: SkillDefinition[], warnings: SkillWarning[] }

/** The most notes about a skill that are reported. */
const notesMax = 100
/** The most paths that a permission may list. */
const pathsMax = 64

/** Makes the definitions of a skill. */
export async function defineSkill (skill: EngineSkill, options: DefineOptions): Promise<Defined> {
  const notes = [...skill.notes]
  const first = defaultInstanceOf(skill)
  const skills = [await defineInstance(skill, skill.name, first.instance, options, notes)]
  for (const [name, instance] of skill.instances) {
    if (name !== first.name) {
      skills.push(await defineInstance(skill, instanceNameOf(skill.name, name), instance, options, notes))
    }
  }
  const different = [...new Set(notes)]
  const more = different.length > notesMax ? [`and ${different.length - notesMax} more`] : []
  const warnings = [...different.slice(0, notesMax), ...more]
    .map(note => ({ name: skill.name, path: skill.folder, warning: warningOf(note) }))
  return { skills: skills.filter(({ name }) => SKILL_NAME.test(name)), warnings }
}

async function defineInstance (
  skill: EngineSkill, name: string, instance: Instance | UnusableInstance, options: DefineOptions, notes: string[]
): Promise<SkillDefinition> {
  const unusable = 'unusable' in instance ? instance.unusable : undefined
  const usable: Instance | undefined = 'unusable' in instance ? undefined : instance
  const secrets = usable === undefined ? [] : secretsOf(name, usable, options.secrets, notes)
  const settings = settingsOf(usable, secrets)
  const targetOf = unusable === undefined || skill.runtime === 'container'
    ? targetsOf(skill, settings, options.programs)
    : (): Target => ({ kind: 'refused', message: `the instance can't be used: ${unusable}` })
  const { tools, code } = skill
  const module = code === undefined || unusable !== undefined
    ? undefined
    : await options.codes.present(code.file, tools.map(tool => tool.name), name)
  const definition: Omit<SkillDefinition, 'revision' | 'digest'> = {
    name,
    description: describe(skill, usable),
    version: skill.version,
    runtime: 'skill-engine',
    directory: skill.folder,
    trusted: options.trusted,
    permissions: {
      network: usable === undefined || !usable.network_said || usable.capabilities.network_access,
      write: (usable?.capabilities.allowed_paths ?? []).filter(isAbsolute).slice(0, pathsMax),
      env: [],
      secrets
    },
    tools: tools.map(tool => defineTool(tool, targetOf(tool))),
    ...(skill.instructions !== undefined && { instructions: skill.instructions }),
    ...(module !== undefined && { module })
  }
  const digest = hashOf(JSON.stringify(definition)).slice(0, 32)
  return { ...definition, revision: digest, digest }
}

/** The description, with what an instance and the services of a skill add to it. */
function describe ({ description, services }: EngineSkill, instance: Instance | undefined): string {
  const needs = services.map(({ name, optional }) => optional ? `${name} (optional)` : name)
  return [
    description,
    ...(instance?.description === undefined ? [] : [`(${instance.description})`]),
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

/** How the tools of a skill are run. */
function targetsOf (
  skill: EngineSkill, settings: RunSettings, list: readonly string[]
): (tool: EngineTool) => Target {
  const { name, runtime, tools, allowedTools, container, reason = 'the skill can\'t be run' } = skill
  const refused = (message: string) => (): Target => ({ kind: 'refused', message })
  const names = tools.map(tool => tool.name)
  switch (runtime) {
    case 'unsupported': return refused(reason)
    case 'script': return () => ({ kind: 'script', settings, programs: [...programsOf(list, allowedTools, names)] })
    case 'container': {
      if (container === undefined || 'unusable' in container) {
        return refused(`the container can't be used: ${container?.unusable ?? 'it is not described'}`)
      }
      return () => ({ kind: 'container', command: containerCommand(container, []) })
    }
    case 'native': {
      const program = programOf(name, list, allowedTools, names)
      if (program === undefined) {
        return refused(`no program is known that runs "${name}": name one in allowed-tools of its SKILL.md, and in plugin.skill-engine.programs`)
      }
      return ({ name, parameters }) =>
        ({ kind: 'words', settings, command: [program, name], declared: parameters.map(parameter => parameter.name) })
    }
  }
}
