import type { Place } from '../listing/places.ts'
import { mapAtMost } from '../shared/at-most.ts'
import type { Folder, FolderToRead } from '../shared/protocol.ts'
import type { SkillTrust } from '../trust/skill-trust.ts'
import { isTrusted } from '../trust/verdict.ts'
import type { Entry } from './entry.ts'
import type { Shelf } from './shelves.ts'

/** The number of folders that are judged at once. */
const judgedMax = 4

/**
 * Decides about the trust of all entries that changed. The module of a skill that the lock keeps from serving is not
 * read, since that would run it.
 */
export async function judgeEntries (shelves: readonly Shelf[], trust: SkillTrust): Promise<void> {
  const todo = shelves.flatMap(({ place, entries }) => {
    return [...entries.values()].flatMap(entry => entry.judged ? [] : [{ place, entry }])
  })
  await mapAtMost(judgedMax, todo, async ({ place, entry }) => { await judgeEntry(place, entry, trust) })
}

async function judgeEntry (place: Place, entry: Entry, trust: SkillTrust): Promise<void> {
  entry.judged = true
  const { looked } = entry
  if (looked === undefined || 'error' in looked) {
    entry.verdict = trust.judgeUnread(entry.verdict)
    return
  }
  entry.verdict = await trust.judge(place, looked)
  const { quarantined, text = '' } = entry.verdict
  if (quarantined && looked.module) entry.fault = { name: looked.name, path: looked.path, error: text }
}

/**
 * The folder of an entry that has no fault and was judged.
 * @param confines whether the modules of skills that are not trusted may run in the sandbox only
 */
export function folderToRead ({ looked, verdict }: Entry, confines: boolean): FolderToRead {
  const trusted = verdict !== undefined && isTrusted(verdict)
  return { ...looked as Folder, in_thread: trusted || !confines }
}
