import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { SkillDefinition } from '../../../kernel/index.ts'
import type { CommandContext } from '../command.ts'
import type { SettingFlags } from '../options/options.ts'
import { findCandidate, readLocked, runsModule, type Candidate } from '../trust/candidate.ts'
import { fetchPackages } from './npm-packages.ts'

/** A skill that was fetched, as it would be installed. None of its code has run. */
export interface Prepared {
  /** Its folder, named like the skill. */
  folder: string
  candidate: Candidate
  /** Undefined where only its module tells what it has. */
  skill: SkillDefinition | undefined
}

/**
 * Makes a fetched folder ready to be installed, and reads what can be read without running its code.
 * @param folder the files of the skill, which are moved
 * @param workspace a folder without a folder `ready`, on the same file system
 * @throws Error when the skill is broken, has links that leave its folder, or its packages can't be fetched
 */
export async function prepare (
  name: string, folder: string, workspace: string, settingFlags: SettingFlags, context: CommandContext
): Promise<Prepared> {
  const ready = join(workspace, 'ready')
  await mkdir(ready)
  const place = join(ready, name)
  await rename(folder, place)
  await fetchPackages(place, workspace, context.signal)
  const flags = { ...settingFlags.flags, 'skills.directories': [ready], 'skills.trusted': [], 'skills.locked': true }
  const only = { ...settingFlags, flags }
  const candidate = await findCandidate(name, only, context)
  const leaving = candidate.content.entries.find(({ outside }) => outside !== undefined)
  if (leaving !== undefined) {
    throw new Error(`its link ${leaving.path} leads to ${leaving.outside ?? ''}, outside of its folder`)
  }
  const skill = runsModule(candidate) ? undefined : candidate.skill ?? (await readLocked(name, only, context)).skill
  return { folder: place, candidate, skill }
}
