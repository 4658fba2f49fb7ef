import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { isObject, replaceFile } from '../../../kernel/index.ts'
import type { ContentEntry } from './folder-content.ts'

/** The size of a text that is kept, and of all texts of a skill, in bytes. Larger ones are named, but not compared. */
export const keptBytes = { text: 256 * 1024, skill: 4 * 1_048_576 }

const suffix = '.json.gz'

/** The texts of a skill's files, by their path in its folder. */
export type Texts = Record<string, string>

/**
 * The texts of skills as they were when they were trusted, to show later which lines changed. One compressed file for
 * each content, named by its hash, beside the trust file; only the user can read them. They decide nothing: a missing
 * or damaged file only means that changed lines are not shown.
 */
export class KeptTexts {
  readonly #directory: string

  /** @param directory `skillet` under the user's configuration directory */
  constructor (directory: string) {
    this.#directory = join(directory, 'trusted-texts')
  }

  /** Keeps the texts of a content. @throws Error when they can't be written */
  async keep (hash: string, texts: Texts): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    await replaceFile(this.#path(hash), await promisify(gzip)(JSON.stringify(texts)))
  }

  /** The texts of a content; none where they are not known. */
  async read (hash: string): Promise<Texts> {
    try {
      const maxOutputLength = 8 * keptBytes.skill // as JSON, with escaped characters
      const json = await promisify(gunzip)(await readFile(this.#path(hash)), { maxOutputLength })
      const value: unknown = JSON.parse(String(json))
      return isTexts(value) ? value : {}
    } catch {
      return {}
    }
  }

  /** Removes the texts of all other contents than these. */
  async prune (hashes: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.#directory).catch((): string[] => [])
    const isKept = (name: string): boolean => hashes.has(name.slice(0, -suffix.length))
    await Promise.all(names.filter(name => !isKept(name)).map(name => rm(join(this.#directory, name), { force: true })))
  }

  #path (hash: string): string {
    return join(this.#directory, hash + suffix)
  }
}

/** The texts among the entries of a folder: files that are UTF-8 without NUL, and still as they were hashed. */
export async function textsOf (entries: readonly ContentEntry[]): Promise<Texts> {
  const texts: Texts = {}
  let left = keptBytes.skill
  for (const { path, file, size, sha256 } of entries) {
    if (file === undefined || size > keptBytes.text || size > left) continue
    const text = await readText(file, size, sha256)
    if (text === undefined) continue
    left -= size
    texts[path] = text
  }
  return texts
}

async function readText (path: string, size: number, sha256: string | undefined): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size + 1), 0, size + 1)
    const content = buffer.subarray(0, bytesRead)
    if (createHash('sha256').update(content).digest('hex') !== sha256 || content.includes(0)) return undefined
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}

function isTexts (value: unknown): value is Texts {
  return isObject(value) && Object.values(value).every(text => typeof text === 'string')
}
