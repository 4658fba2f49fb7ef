import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, type SkillDefinition } from '../../../kernel/index.ts'
import type { CommandContext } from '../command.ts'
import type { SettingFlags } from '../options/options.ts'
import { findCandidate } from '../trust/candidate.ts'

interface Places {
  name: string
  /** The folder of the new skill. */
  folder: string
  /** The folder where it is to be. */
  target: string
  workspace: string
  /** The skill as it was read before it is moved, where that was possible. */
  prepared: SkillDefinition | undefined
}

/**
 * Moves a prepared skill to its place, and reads it there, which runs its module if it has one. The tools of a web API
 * are in its files alone, so it is not read again: a large document takes a second. An earlier skill is
 * replaced. If the new one does not load, everything is as it was.
 * @returns the skill; undefined where `skills.locked` keeps it from being read
 * @throws SkilletError that says why it does not load
 */
export async function putInPlace (
  { name, folder, target, workspace, prepared }: Places, settingFlags: SettingFlags, context: CommandContext
): Promise<SkillDefinition | undefined> {
  const before = join(workspace, 'before')
  const replaces = await rename(target, before).then(() => true, (error: unknown) => {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  })
  try {
    await rename(folder, target)
    if (prepared?.runtime === 'http') return { ...prepared, directory: target }
    return (await findCandidate(name, settingFlags, context)).skill
  } catch (error) {
    await rename(target, join(workspace, 'refused')).catch(() => {})
    if (replaces) await rename(before, target)
    throw error
  }
}
