import { isObject } from '../../../kernel/index.ts'
import type { Snapshot, ToolSnapshot } from './snapshot.ts'

/** A skill that the user trusted, with the content that it had. */
export interface TrustRecord {
  name: string
  /** Absolute path of the skill's folder, without links. */
  path: string
  /** The hash of its content, in hexadecimal digits. */
  hash: string
  /** A digest of each file, folder and link, by path: to tell which ones changed. */
  files: Record<string, string>
  snapshot: Snapshot
  /** When it was trusted, as an ISO 8601 time in UTC. */
  at: string
  /** The name of the user who trusted it. */
  by: string
}

/** The version of the format. */
export const formatVersion = 1

/**
 * Reads the text of the trust file. Every command reads the file, so it is checked without a schema, whose compiler
 * takes longer to load than all skills.
 * @throws Error that says what is wrong with the text
 */
export function parseRecords (text: string): TrustRecord[] {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || value['version'] !== formatVersion) {
    throw new Error(`it must hold "version": ${formatVersion}`)
  }
  const { skills } = value
  if (!Array.isArray(skills)) throw new Error('"skills" must be a list')
  return skills.map((record: unknown, i) => {
    if (!isRecord(record)) throw new Error(`skills/${i} is no record of a trusted skill`)
    return record
  })
}

function isRecord (value: unknown): value is TrustRecord {
  return isObject(value) && areTexts(value, 'name', 'path', 'hash', 'at', 'by')
    && /^[0-9a-f]{64}$/.test(String(value['hash'])) && isEachText(value['files']) && isSnapshot(value['snapshot'])
}

function isSnapshot (value: unknown): value is Snapshot {
  return isObject(value) && areTexts(value, 'description', 'instructions') && isEachText(value['permissions'])
    && isObject(value['tools']) && Object.values(value['tools']).every(isTool)
}

function isTool (value: unknown): value is ToolSnapshot {
  return isObject(value) && areTexts(value, 'description', 'rest') && isEachText(value['parameters'])
}

function areTexts (value: Record<string, unknown>, ...names: string[]): boolean {
  return names.every(name => typeof value[name] === 'string')
}

function isEachText (value: unknown): boolean {
  return isObject(value) && Object.values(value).every(text => typeof text === 'string')
}
