import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { basename, isAbsolute, relative, sep } from 'node:path'
import { fromHome, isObject, messageOf, type SkillDefinition } from '../../kernel/index.ts'

/** The largest file that is sent, in bytes. */
const fileBytesMax = 16 * 1_048_576

export interface SentFile { bytes: Buffer, name: string, type: string | undefined }
/** @throws Error naming the parameter, and why the file is not sent */
export type ReadFile = (value: unknown, input: string) => Promise<SentFile>

/**
 * Reads the files of a call: in base64, or by their path where the skill's `permissions.read` covers them.
 * @param private_paths Skillet's own files and folders, which are never sent
 */
export function fileReader ({ permissions }: SkillDefinition, private_paths: readonly string[]): ReadFile {
  return async (value, input) => {
    if (!isObject(value)) throw new Error(`the parameter "${input}" is no file`)
    const { base64, path, name, type } = value
    const named = typeof name === 'string' ? name : typeof path === 'string' ? basename(path) : 'file'
    if (typeof type === 'string' && !/^[\w.+-]+\/[\w.+-]+(;[ \w.+="-]*)?$/.test(type)) {
      throw new Error(`the parameter "${input}" has a type that is no media type`)
    }
    const about = { name: named, type: typeof type === 'string' ? type : undefined }
    if (typeof base64 === 'string') return { ...about, bytes: decoded(base64, input) }
    if (typeof path !== 'string') throw new Error(`the parameter "${input}" has neither base64 nor path`)
    return { ...about, bytes: await readAllowed(path, input, permissions.read ?? [], private_paths) }
  }
}

function decoded (text: string, input: string): Buffer {
  if (/^[A-Za-z0-9+/_\-\s]*=*\s*$/.test(text)) return Buffer.from(text, 'base64')
  throw new Error(`the parameter "${input}" is not valid base64`)
}

async function readAllowed (
  path: string, input: string, readable: readonly string[], private_paths: readonly string[]
): Promise<Buffer> {
  const refused = (why: string): Error => new Error(`the parameter "${input}": ${path} is not sent: ${why}`)
  if (readable.length === 0) throw refused('permissions.read in skill.toml names no folder; give base64 instead')
  if (!isAbsolute(path)) throw refused('the path must be absolute')
  const real = await realpath(path).catch((error: unknown) => { throw refused(messageOf(error)) })
  const lies = async (folders: readonly string[]): Promise<boolean> => {
    const all = await Promise.all(folders.map(folder => realpath(fromHome(folder)).catch(() => undefined)))
    return all.some(folder => folder !== undefined && isWithin(folder, real))
  }
  if (!await lies(readable)) throw refused(`permissions.read in skill.toml does not cover it`)
  if (await lies(private_paths)) throw refused('it is Skillet\'s own')
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw refused('it is no file')
    if (stats.size > fileBytesMax) throw refused(`it has ${stats.size} bytes; the most is ${fileBytesMax}`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

function isWithin (folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
