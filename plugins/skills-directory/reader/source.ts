import { basename } from 'node:path'
import {
  messageOf, type ManifestFrame, type QuarantinedSkill, type SkillDefinition, type SkillWarning
} from '../../../kernel/index.ts'
import { SkillFault } from '../shared/files.ts'
import { completePermissions, readTool } from '../shared/manifest.ts'
import type { DescribedSkill } from '../shared/protocol.ts'
import { defineEach, type BrokenTool, type ToolSource } from '../shared/tools.ts'

/** A skill that was read, with the tools that could not be. */
export interface Read { skill: DescribedSkill, broken: QuarantinedSkill[], warnings: SkillWarning[] }

/** The fields that skills of all runtimes have. */
export type Common =
  Pick<
    DescribedSkill,
    'name' | 'instructions' | 'reads_files' | 'config_from' | 'concurrency' | 'directory' | 'runtime'
  >

/** The files in a skill's folder that describe the skill, with the contents that were read. */
export interface Source {
  manifestPath: string
  manifest: ManifestFrame
  /** The absolute path of its module, if it has one. */
  module: string | undefined
  common: Common
  /** The description in SKILL.md. */
  description: string | undefined
}

/** The tools of a skill of commands. @throws SkillFault when it has none, or a module, as only script skills have */
export function commandsIn ({ manifestPath, manifest, module, common }: Source): (ToolSource | BrokenTool)[] {
  if (module !== undefined) {
    const says = `skill.toml says runtime = "${common.runtime}"`
    throw new SkillFault(manifestPath, `${says}, but the folder has a ${basename(module)}`)
  }
  const { tools = [] } = manifest
  if (tools.length === 0) throw new SkillFault(manifestPath, 'skill.toml has no [[tools]]')
  return tools.map(readTool)
}

/** @throws SkillFault when a file names the skill otherwise than its folder */
export function refuseOtherName (path: string, name: string | undefined, folder: string): void {
  if (name !== undefined && name !== folder) {
    throw new SkillFault(path, `${basename(path)} names the skill "${name}", but its folder is "${folder}"; they must be equal`)
  }
}

/** Description and version, each from the first source that has it. */
export function described (
  path: string, manifest: ManifestFrame, script: { description?: string, version?: string },
  description: string | undefined
): Pick<SkillDefinition, 'description' | 'version'> {
  const text = manifest.description ?? script.description ?? description
  if (text === undefined) throw new SkillFault(path, 'the skill has no description')
  const version = manifest.version ?? script.version
  return { description: text, ...(version !== undefined && { version }) }
}

/**
 * Tools and permissions. A broken tool is left out, unless all tools are broken.
 * @throws Error with the fault of the first tool, when all tools are broken
 */
export function withTools (
  path: string, skill: string, sources: readonly (ToolSource | BrokenTool)[], permissions: ManifestFrame['permissions']
): { defined: Pick<SkillDefinition, 'tools' | 'permissions'>, broken: QuarantinedSkill[] } {
  const { tools, broken } = defineEach(sources)
  const [first, ...more] = broken
  if (tools.length === 0 && first !== undefined) {
    throw new Error(`${first.error}${more.length === 0 ? '' : ` (and ${more.length} more of its tools are broken)`}`)
  }
  const parameters = new Set(
    sources.flatMap(source => 'error' in source ? [] : source.parameters.map(parameter => parameter.name))
  )
  return {
    defined: { tools, permissions: completePermissions(permissions, parameters) },
    broken: broken.map(({ tool, error }) => ({ name: skill, tool, path, error: located(path, error) }))
  }
}

/** Puts the file's path before a message that does not begin with it. */
export function located (path: string, error: string): string {
  return error.startsWith(basename(path)) ? error : `${basename(path)}: ${error}`
}

/** Turns an error that is thrown by `work` into a fault of this file. */
export function within<T> (path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new SkillFault(path, located(path, messageOf(error)), { cause: error })
  }
}
