import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'smol-toml'
import { fromHome, isObject } from '../../../kernel/index.ts'
import { httpOf } from '../../toolkit/openapi/read-api.ts'
import { objectAt, textAt } from '../../toolkit/openapi/values.ts'
import { DOCUMENT, lenientName, MANIFEST } from '../../toolkit/skill-folder.ts'
import { UsageError } from '../boot.ts'
import type { Staged } from '../packages/stage.ts'
import { loadDocument, NotModified, type Validators } from './load-file.ts'
import { earlier, openLoaded, writeSkill, type Wish } from './make-skill.ts'

/** Begins the source of a skill that was imported, in the lock file. */
const prefix = 'openapi:'

/** Whether a source of the lock file is an OpenAPI document. */
export function isDocument (source: string): boolean {
  return source.startsWith(prefix)
}

/** A skill that was made of a document, and what of the document could not be used. */
export interface StagedDocument extends Staged { name: string, source: string, faults: string[] }

/**
 * Fetches a document and makes the folder of a skill of it.
 * @param text an address, or a path
 * @throws Error that says what is wrong
 */
export async function stageDocument (
  text: string, { name: wanted, ...wish }: Omit<Wish, 'name'> & { name: string | undefined }, workspace: string,
  cwd: string, signal: AbortSignal, validators: Validators = {}
): Promise<StagedDocument> {
  const url = addressOf(text, cwd)
  const opened = await openLoaded(await loadDocument(url, signal, validators), wish.filter, signal)
  const title = textAt(objectAt(opened.document, 'info'), 'title') ?? ''
  const name = wanted ?? (lenientName(title).replace(/-+$/, '') || 'api')
  const folder = join(workspace, 'files')
  await mkdir(folder)
  const source = url.protocol === 'file:' ? resolve(cwd, fromHome(text)) : url.href
  const leftOut = await writeSkill(folder, opened, { ...wish, name }, source)
  const version = String(objectAt(opened.document, 'info')['version'] ?? '').slice(0, 64)
  return {
    folder, name, source: prefix + source, faults: [...opened.faults, ...leftOut],
    resolved: `${version} sha256:${opened.loaded.sha256}`.trim()
  }
}

/**
 * Fetches the document of a skill again. Server, filters, credentials and the names of operations stay.
 * @param skill the folder of the installed skill
 * @param whole whether it is fetched even if the server would say that it is as it was
 * @returns undefined where the server says that the document is as it was
 */
export async function stageAgain (
  skill: { name: string, folder: string, source: string }, workspace: string, signal: AbortSignal,
  whole = false
): Promise<Staged | undefined> {
  const manifest: unknown = parse(await readFile(join(skill.folder, MANIFEST), 'utf8'))
  const http = httpOf(isObject(manifest) ? manifest['http'] : undefined)
  const document = await readFile(join(skill.folder, DOCUMENT), 'utf8')
  const before = earlier(document, http)
  // Other files that it refers to may have changed.
  const validators = whole || document.includes('"x-files"') ? {} : validatorsOf(http)
  const { filter = [], server } = http
  const { read } = isObject(manifest) ? objectAt(manifest, 'permissions') : {}
  const wish = { name: skill.name, filter, server, before: { ...before, read } }
  try {
    return await stageDocument(skill.source.slice(prefix.length), wish, workspace, '/', signal, validators)
  } catch (error) {
    if (error instanceof NotModified) return undefined
    throw error
  }
}

function validatorsOf ({ etag, last_modified }: ReturnType<typeof httpOf>): Validators {
  return { ...(etag !== undefined && { etag }), ...(last_modified !== undefined && { last_modified }) }
}

function addressOf (text: string, cwd: string): URL {
  if (/^https?:\/\//i.test(text)) {
    if (URL.canParse(text)) return new URL(text)
    throw new UsageError(`"${text}" is no address`)
  }
  if (/^file:\/\//i.test(text) && URL.canParse(text)) return new URL(text)
  return pathToFileURL(resolve(cwd, fromHome(text)))
}
