import type { QuarantinedSkill, SkillDefinition } from '../../../kernel/index.ts'
import type { Looked } from '../listing/list.ts'
import { stampOf } from '../listing/revision.ts'
import type { Described, Fault } from '../shared/protocol.ts'

/** A version of a skill, as its folder was at one moment. */
export interface Version extends Omit<Described, 'skill'> { skill: SkillDefinition }

/** An entry of a skills directory over time. */
export interface Entry {
  looked: Looked
  /** Differs whenever the entry, or a file elsewhere from which the skill was made, may differ. */
  key: string
  /** The files elsewhere that were read, or looked for, when the entry was described last. */
  outside: readonly string[]
  /** The skill at present, once it was described. Neither version nor fault is there where nothing is a skill. */
  version: Version | undefined
  fault: Fault | undefined
  /** The key of the state that was believed last. */
  believed: string | undefined
  /** The version that serves: the last that was believed, had no fault and broke no tool of the version before. */
  good: Version | undefined
  /** The faults that are reported: of the skill, or of tools that would serve no more. */
  reported: readonly QuarantinedSkill[]
  /** A change for the worse, believed when it is still the same at this time (performance.now()). */
  pending: { key: string, until_ms: number } | undefined
}

/** The key of an entry whose folder is still being read, though nobody waits for it: nothing is known of the entry. */
export const unread = 'unread'

/**
 * The entry for a name. The state of the entry before it is kept, but for its version and fault, which are to be read.
 */
export function entryOf (before: Entry | undefined, looked: Looked, key: string): Entry {
  const fault = looked !== undefined && 'error' in looked ? looked : undefined
  return {
    outside: [], believed: undefined, good: undefined, reported: [], pending: undefined,
    ...before, looked, key, version: undefined, fault
  }
}

/**
 * The name under which an entry is a skill, or is broken. Undefined while it is neither, or not yet believed to be
 * broken.
 */
export function nameOf (entry: Entry): string | undefined {
  if (entry.good !== undefined) return entry.good.skill.name
  if (isKnown(entry) && entry.believed !== entry.key) return entry.reported[0]?.name
  return entry.looked?.name
}

/** Whether the entry was described, or needs no description. */
export function isKnown ({ looked, version, fault }: Entry): boolean {
  return looked === undefined || version !== undefined || fault !== undefined
}

/**
 * Takes over the version or fault of an entry. A change for the worse is taken over only when it has stayed.
 * @param now_ms absent: everything is believed at once
 */
export function believe (entry: Entry, now_ms: number | undefined, patience_ms: number): void {
  const { key, version, good, pending } = entry
  if (entry.believed === key) return
  const broke = version !== undefined && good !== undefined && breaks(version, good)
  // A manifest or module that is gone for a moment can make another kind of skill of the folder.
  const otherKind = version !== undefined && good !== undefined && good.skill.runtime !== version.skill.runtime
  const worse = version === undefined || otherKind || broke
  if (worse && now_ms !== undefined) {
    if (pending?.key !== key) entry.pending = { key, until_ms: now_ms + patience_ms }
    if (entry.pending !== undefined && now_ms < entry.pending.until_ms) return
  }
  entry.believed = key
  entry.pending = undefined
  entry.reported = entry.fault !== undefined ? [entry.fault] : broke ? version.broken : []
  if (entry.fault === undefined && !broke) entry.good = version
}

/** Whether a tool that serves would serve no more for a fault of its own. */
function breaks (version: Version, { skill }: Version): boolean {
  if (skill.runtime !== version.skill.runtime) return false
  return version.broken.some(({ tool }) => skill.tools.some(({ name }) => name === tool))
}

/** The key of an entry with these files elsewhere. */
export async function keyOf (looked: Looked, outside: readonly string[]): Promise<string> {
  if (looked === undefined) return 'nothing'
  if ('error' in looked) return `fault ${looked.error}`
  return outside.length === 0 ? looked.revision : `${looked.revision} ${await stampOf(outside)}`
}
