import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isObject, replaceFile, type JsonObject } from '../../../kernel/index.ts'

/** The tools that a server listed last, and how its last start went: kept in a file, for the time when it is down. */
export interface ToolList {
  /** The `way` of the specification: the list of another server does not count. */
  way: string
  /** Absent while the server has never listed its tools. */
  listed?: {
    tools: JsonObject[]
    /** How many tools the server has, where not all were read. */
    of?: number
    server?: { name: string, version: string }
    /** What the server says of itself. */
    instructions?: string
    /** The protocol that it speaks: that of 2025 and before, or that of 2026. */
    era?: 'legacy' | 'modern'
  }
  /** Why the server could not be used at last, in one line; absent while it can be used. */
  fault?: string
}

/** The size limit of the file, in bytes. */
const listBytesMax = 64 * 1_048_576

/** The folder of the lists in a data directory. */
export function toolListFolder (data_dir: string): string {
  return join(data_dir, 'cache', 'mcp')
}

/** The file with the list of a skill's server. @param directory the folder of the skill */
export function toolListFile (folder: string, name: string, directory: string): string {
  return join(folder, `${name}-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}.json`)
}

/** Reads a list; undefined when there is none of this server, or it is damaged. */
export function readToolList (file: string, way: string): ToolList | undefined {
  let descriptor
  try {
    descriptor = openSync(file, 'r')
    if (fstatSync(descriptor).size > listBytesMax) return undefined
    return parseToolList(readFileSync(descriptor, 'utf8'), way)
  } catch {
    return undefined // missing or damaged: the server is asked again
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** The list in a text; undefined when it is of another server, or damaged. */
export function parseToolList (text: string, way: string): ToolList | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isToolList(value) && value.way === way ? value : undefined
  } catch {
    return undefined
  }
}

/** Writes a list, unless the file has it already. @returns whether the file changed */
export async function writeToolList (file: string, list: ToolList): Promise<boolean> {
  const text = JSON.stringify(list)
  if (Buffer.byteLength(text) > listBytesMax) throw new Error(`the list of tools is larger than ${listBytesMax} bytes`)
  if (await readFile(file, 'utf8').catch(() => undefined) === text) return false
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await replaceFile(file, text, { durable: false })
  return true
}

function isToolList (value: unknown): value is ToolList {
  if (!isObject(value) || typeof value['way'] !== 'string') return false
  const { listed, fault } = value
  const isListed = listed === undefined || (isObject(listed) && Array.isArray(listed['tools'])
    && listed['tools'].every(isObject) && (
      listed['instructions'] === undefined || typeof listed['instructions'] === 'string'
    )
    && (listed['of'] === undefined || typeof listed['of'] === 'number') && isServer(listed['server']))
  return isListed && (fault === undefined || typeof fault === 'string')
}

function isServer (value: unknown): boolean {
  return value === undefined
    || (isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string')
}
