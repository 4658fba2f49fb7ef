import type { QuarantinedSkill, SkillDefinition } from '../../../kernel/index.ts'
import type { Looked } from '../listing/list.ts'
import { stampOf } from '../listing/revision.ts'
import type { Described, Fault } from '../shared/protocol.ts'
import type { Verdict } from '../trust/verdict.ts'

/** A version of a skill, as its folder was at one moment. */
export interface Version extends Omit<Described, 'skill'> { skill: SkillDefinition }

/** An entry of a skills directory over time. */
export interface Entry {
  looked: Looked
  /** A text that differs whenever the entry, or a file elsewhere from which the skill was made, may differ. */
  key: string
  /** The files elsewhere that were read, or looked for, at the last description of the entry. */
  outside: readonly string[]
  /** The present skill, once it was described. Both version and fault are undefined when the entry is not a skill. */
  version: Version | undefined
  fault: Fault | undefined
  /** The key of the state that was last accepted. */
  believed: string | undefined
  /** The version that serves: the last accepted version that had no fault and broke no tool of the version before. */
  good: Version | undefined
  /** The reported faults: of the skill, or of tools that would no longer serve. */
  reported: readonly QuarantinedSkill[]
  /** A change for the worse, which is accepted if the state is still the same at this time (performance.now()). */
  pending: { key: string, until_ms: number } | undefined
  /** The part of the key on which the verdict depends, and the verdict; undefined until it was made. */
  mark: string
  verdict: Verdict | undefined
  /** Whether the verdict is about the present state, and how often the folder changed while it was described. */
  judged: boolean
  unsteady: number
}

/** The key of an entry whose folder is still being read after its caller stopped waiting: its contents are unknown. */
export const unread = 'unread'

/** The entry for a name. It keeps the state of the entry before, except version and fault, which must be read again. */
export function entryOf (before: Entry | undefined, looked: Looked, key: string, mark: string): Entry {
  const fault = looked !== undefined && 'error' in looked ? looked : undefined
  return {
    outside: [], believed: undefined, good: undefined, reported: [], pending: undefined, verdict: undefined,
    ...before, looked, key, mark, version: undefined, fault, judged: false, unsteady: 0
  }
}

/**
 * The name of an entry that is a skill or is broken. Undefined for other entries, and while a fault is not yet
 * accepted.
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
 * Takes over the version or fault of an entry. A change for the worse is taken over only after it has lasted for a
 * while.
 * @param now_ms absent: every change is accepted at once
 */
export function believe (entry: Entry, now_ms: number | undefined, patience_ms: number): void {
  const { key, version, good, pending } = entry
  if (entry.believed === key) return
  const broke = version !== undefined && good !== undefined && breaks(version, good)
  // When a manifest or module is missing for a moment, the folder can look like another kind of skill.
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

/** Whether a tool that serves would no longer serve because of a fault of its own. */
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
