import { createHash, type Hash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { hasCode } from '../../../kernel/index.ts'
import {
  isInstructions, isPassedOver, mayBeScript, REFERENCES, scriptDepthMax, SCRIPTS
} from '../shared/script-files.ts'

/** The number of a skill folder's files that count for its revision, and their maximum depth. */
const filesMax = 1_000
export const depthMax = 8
/** The files of a skill without a module that are read, beside its scripts, texts that name them, and WebAssembly. */
const files = new Set(['skill.toml', 'openapi.json', 'requirements.txt'])

/**
 * A text that differs whenever the skill may differ. It is made from names, sizes, inodes and times of files, so that
 * no file is read. With a module, all files of the folder count, since the module may read any of them when it is
 * imported; except hidden files, files under `node_modules`, and imports from outside the folder.
 * @param present the names in the folder
 */
export async function revisionOf (folder: string, module: boolean, present: ReadonlySet<string>): Promise<string> {
  const hash = createHash('sha256')
  if (module) await walk(folder, 0, hash, { left: filesMax })
  else {
    const left = { left: filesMax }
    for (const file of [...present].filter(isFileOfSkill).sort()) {
      if (left.left-- > 0) hash.update(await line(join(folder, file)))
    }
    for (const reference of REFERENCES) {
      if (present.has(reference)) await walkReferences(join(folder, reference), hash, left)
    }
    if (present.has(SCRIPTS)) await walkScripts(join(folder, SCRIPTS), 0, hash, left)
  }
  return hash.digest('hex').slice(0, 32)
}

/** Whether a file may count for the revision of a folder, according to its path. */
export function countsForRevision (folder: string, file: string, module = true): boolean {
  const parts = relative(folder, file).split(sep)
  if (parts.length === 1 && parts[0] === '') return true
  if (!module) {
    return parts.length === 1
      || (parts[0] === SCRIPTS && parts.length <= scriptDepthMax + 2 && !parts.some(isPassedOver)
        && isScriptOrFolder(parts.at(-1) ?? ''))
  }
  return parts.length <= depthMax && parts.every(part => part !== 'node_modules' && !part.startsWith('.'))
}

/** A text that differs whenever one of the files differs, and that stays the same while a file is missing. */
export async function stampOf (files: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await line(file))
  return hash.digest('hex').slice(0, 32)
}

function isFileOfSkill (name: string): boolean {
  return files.has(name) || isInstructions(name) || name.endsWith('.wasm')
}

/** Most folders have no file extension; whether an entry is a script is checked later. */
function isScriptOrFolder (name: string): boolean {
  return mayBeScript(name) || name === '__init__.py' || files.has(name)
}

/** Adds the texts that are directly in the folder; texts in subfolders are not read. */
async function walkReferences (folder: string, hash: Hash, files: { left: number }): Promise<void> {
  const names = await readdir(folder).catch(unlessScarce)
  for (const name of names.filter(isInstructions).sort()) {
    if (files.left-- > 0) hash.update(await line(join(folder, name)))
  }
}

/**
 * Adds the files that may be scripts, or that declare a script's requirements. Other data of scripts does not count.
 */
async function walkScripts (folder: string, depth: number, hash: Hash, files: { left: number }): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(unlessScarce)
  for (const entry of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() ? isPassedOver(entry.name) : !isScriptOrFolder(entry.name)) continue
    if (files.left-- <= 0) return
    if (!entry.isDirectory()) hash.update(await line(path))
    else if (depth < scriptDepthMax) await walkScripts(path, depth + 1, hash, files)
  }
}

/** A folder that can't be read counts as empty, unless the system had no file descriptor for it at this moment. */
function unlessScarce (error: unknown): [] {
  if (hasCode(error, 'EMFILE', 'ENFILE')) throw error
  return []
}

async function walk (folder: string, depth: number, hash: Hash, files: { left: number }): Promise<void> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => a.name < b.name ? -1 : 1)
  for (const entry of entries) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    if (files.left-- <= 0) return
    const path = join(folder, entry.name)
    if (entry.isDirectory()) { // a linked folder counts as a link: following it may never end
      if (depth < depthMax) await walk(path, depth + 1, hash, files)
      continue
    }
    hash.update(await line(path))
  }
}

async function line (path: string): Promise<string> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  return `${path}\0${stats?.ino}\0${stats?.size}\0${stats?.mode}\0${stats?.mtimeNs}\0${stats?.ctimeNs}\n`
}
