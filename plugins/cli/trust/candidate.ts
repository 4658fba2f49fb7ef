import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
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
  /** The skill. Undefined while `skills.locked` keeps its module from being read, and where that failed. */
  skill: SkillDefinition | undefined
  /** Why its module could not be read in the sandbox. */
  fault?: string
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

/**
 * Reads a skill that `skills.locked` keeps from serving. This runs its module, in the sandbox where isolation.mode says
 * so.
 * @throws SkilletError
 */
export async function readLocked (
  name: string, settingFlags: SettingFlags, context: CommandContext
): Promise<Pick<Candidate, 'skill' | 'fault'>> {
  return await look(name, withFlags(settingFlags, { 'skills.locked': false }), context)
}

/** Reads a skill whose module fails in the sandbox: this runs its module as the user. @throws SkilletError */
export async function readUnconfined (
  name: string, settingFlags: SettingFlags, context: CommandContext
): Promise<SkillDefinition | undefined> {
  const flags = { 'skills.locked': false, 'isolation.mode': 'off' }
  return (await look(name, withFlags(settingFlags, flags), context)).skill
}

function withFlags (settingFlags: SettingFlags, flags: SettingFlags['flags']): SettingFlags {
  return { ...settingFlags, flags: { ...settingFlags.flags, ...flags } }
}

interface SkillReading extends Pick<Candidate, 'skill' | 'problem' | 'fault'> { directory: string, read_ms: number }

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
    const broken = quarantined.find(skill => skill.name === name && skill.tool === undefined)
    const folder = broken === undefined ? undefined : await folderOf(broken.path)
    if (broken !== undefined && folder !== undefined && config.isolation.mode !== 'off') {
      return { skill: undefined, directory: folder, read_ms, problem: undefined, fault: broken.error }
    }
    await kernel.gateway.invoke(getSkill, { name }, call) // throws: there is no such skill
    throw new Error(`the skill "${name}" changed while it was read; try it again`)
  } finally {
    await kernel.stop()
  }
}

/** The folder of a skill with a module, by its path or that of a file in it. */
async function folderOf (path: string): Promise<string | undefined> {
  const folder = await stat(path).then(stats => stats.isDirectory() ? path : dirname(path), () => undefined)
  if (folder === undefined) return undefined
  return hasModule(new Set(await readdir(folder))) ? folder : undefined
}
