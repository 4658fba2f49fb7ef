import { realpath } from 'node:fs/promises'
import { getSkill, health, silentLogger, type Config, type SkillDefinition } from '../../../kernel/index.ts'
import { readFolder, type FolderContent } from '../../toolkit/trust/folder-content.ts'
import { hasModule } from '../../toolkit/skill-folder.ts'
import { boot, configure, quick } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import type { SettingFlags } from '../options/options.ts'

/** A skill that is to be trusted, with the content of its folder before the skill was read. */
export interface Candidate {
  name: string
  /** Absolute path of the folder, without links. */
  path: string
  content: FolderContent
  /** The skill. Undefined while `skills.locked` keeps its module from being read. */
  skill: SkillDefinition | undefined
  /** Why the skill is not trusted, where that is known. */
  problem: string | undefined
}

/** Whether reading the skill runs a module in its folder. */
export function runsModule ({ content }: Candidate): boolean {
  return hasModule(new Set(content.entries.map(({ path }) => path)))
}

/**
 * Finds the skill that serves under a name, or would serve if it were trusted.
 * @throws SkilletError SKILL_NOT_FOUND, with the fault of a skill that is broken
 * @throws FolderFault when its folder can't be trusted by its content
 */
export async function findCandidate (
  name: string, settingFlags: SettingFlags, context: CommandContext
): Promise<Candidate> {
  const read = await look(name, settingFlags, context)
  const path = await realpath(read.directory)
  const content = await readFolder(path)
  // The definition must be that of this content: it is read once more if files changed meanwhile.
  if (read.skill === undefined || content.newest_ms < read.read_ms) return { ...read, name, path, content }
  return { ...await look(name, settingFlags, context), name, path, content }
}

/** Reads a skill that `skills.locked` keeps from serving: this runs its module. @throws SkilletError */
export async function readLocked (
  name: string, settingFlags: SettingFlags, context: CommandContext
): Promise<SkillDefinition | undefined> {
  return (await look(
    name, { ...settingFlags, flags: { ...settingFlags.flags, 'skills.locked': false } }, context
  )).skill
}

interface SkillReading extends Pick<Candidate, 'skill' | 'problem'> { directory: string, read_ms: number }

async function look (name: string, settingFlags: SettingFlags, context: CommandContext): Promise<SkillReading> {
  const { terminal, builtin, signal } = context
  const from = { only: name, ...(settingFlags.file !== undefined && { file: settingFlags.file }) }
  const config: Config = configure(settingFlags, context)
  const read_ms = Date.now()
  const kernel = await boot(builtin, config, quick, terminal, silentLogger, signal, from)
  try {
    const call = { transport: 'cli', signal } as const
    const { quarantined, warnings } = await kernel.gateway.invoke(health, {}, call)
    const skill = kernel.skills().find(skill => skill.name === name)
    const problem = warnings.find(warning => warning.name === name && warning.trust !== undefined)?.warning
    if (skill !== undefined) return { skill, directory: skill.directory, read_ms, problem }
    const locked = quarantined.find(skill => skill.name === name && skill.trust !== undefined)
    if (locked !== undefined) return { skill: undefined, directory: locked.path, read_ms, problem: locked.error }
    await kernel.gateway.invoke(getSkill, { name }, call) // throws: there is no such skill
    throw new Error(`the skill "${name}" changed while it was read; try it again`)
  } finally {
    await kernel.stop()
  }
}
