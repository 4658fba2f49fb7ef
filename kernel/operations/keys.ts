import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { Type } from 'typebox'
import { isAbsent } from '../lib/file.ts'
import { isObject } from '../lib/json.ts'
import { compileAllows, type Access } from '../contracts/access.ts'
import { KeyTable, type KeySettings } from '../contracts/key-settings.ts'
import { compileCheck } from '../schema/validation.ts'

/** Makes a new key. Only its hash is stored, so the key itself is shown once. */
export function newKey (): string {
  return `sk_${randomBytes(32).toString('base64url')}`
}

/**
 * The stored hash of a key. A fast hash is enough: a password needs a slow hash, but nobody can try 2^256 keys, and
 * with a slow hash anybody could overload the server by sending wrong keys.
 */
export function hashKey (key: string): string {
  return `sha256:${hash('sha256', key, 'hex')}`
}

/** The rights of a key. */
export function accessOf (name: string, { scopes, skills }: Pick<KeySettings, 'scopes' | 'skills'>): Access {
  const allows = compileAllows(skills)
  return { key: name, scopes: new Set(scopes), ...(allows !== undefined && { allows }) }
}

let check: ReturnType<typeof compileCheck> | undefined

/**
 * Reads the named keys from the present configuration file; no keys when there is no file.
 * @throws Error when the file can't be read or is not TOML, or when its keys are not well-formed
 */
export function readKeys (path: string): Record<string, KeySettings> {
  let text
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isAbsent(error)) return {}
    throw error
  }
  return parseKeys(text)
}

/** Reads the named keys from the text of a configuration file. @throws Error when the text or its keys are invalid */
export function parseKeys (text: string): Record<string, KeySettings> {
  const { server } = parse(text)
  const keys: unknown = isObject(server) ? server['keys'] ?? {} : {}
  check ??= compileCheck(Type.Object({ keys: KeyTable }), '', { checked: true })
  const fault = check({ keys })
  if (fault !== undefined) throw new Error(fault.replaceAll('/', '.').replace(/^body /, 'server.'))
  return keys as Record<string, KeySettings> // the check above guarantees this type
}
