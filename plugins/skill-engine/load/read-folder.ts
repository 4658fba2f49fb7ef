import { basename, dirname, join, resolve } from 'node:path'
import { messageOf } from '../../../kernel/index.ts'
import { parseManifest, sourceKind, type Entry } from '../config/manifest.ts'
import { brief, skillNameOf } from '../text/names.ts'
import { parseSkillMd } from '../text/skill-md.ts'
import type { CodeCache } from './code-cache.ts'
import { Refusal, type EngineSkill, type Refused } from './engine-skill.ts'
import { foldersIn, readText } from './files.ts'
import { kindOf, readInstructions } from './folder.ts'
import { readSkill } from './read-skill.ts'

/** What was found, in order. */
export type Found = EngineSkill | Refused

/** Reads a configured directory: a folder that is a skill or has a manifest, or a directory of such folders. */
export async function readDirectory (directory: string, codes: CodeCache, signal: AbortSignal): Promise<Found[]> {
  const itself = await readFolder(directory, codes, signal)
  if (itself !== undefined) return itself
  let folders
  try {
    folders = await foldersIn(directory)
  } catch (error) {
    const name = skillNameOf(basename(directory)) || 'skill-engine'
    return [{ name, path: directory, reason: 'directory', message: `the directory can't be read: ${messageOf(error)}` }]
  }
  const found = await together(folders, async folder => await readFolder(folder, codes, signal) ?? [])
  return found.flat()
}

/** The most folders that are read at the same time. */
const togetherMax = 8

/** Applies a function to all items, some at a time. The results are in the order of the items. */
async function together<Item, Result> (
  items: readonly Item[], work: (item: Item) => Promise<Result>
): Promise<Result[]> {
  const results: Result[] = []
  for (let i = 0; i < items.length; i += togetherMax) {
    results.push(...await Promise.all(items.slice(i, i + togetherMax).map(work)))
  }
  return results
}

/** Reads a folder; undefined when it is no skill. */
async function readFolder (folder: string, codes: CodeCache, signal: AbortSignal): Promise<Found[] | undefined> {
  const kind = await kindOf(folder)
  if (kind.kind === 'none') return undefined
  if (kind.kind === 'manifest') return await readManifest(kind.file, codes, signal)
  return [await orRefused(basename(folder), folder, readSkill(folder, undefined, codes, signal))]
}

async function orRefused (name: string, path: string, reading: Promise<EngineSkill>): Promise<Found> {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { reason, message } = error
    return { name, path: error.path === '' ? path : error.path, reason, message: brief(message, 1_000) }
  }
}

async function readManifest (file: string, codes: CodeCache, signal: AbortSignal): Promise<Found[]> {
  const folder = dirname(file)
  let manifest
  try {
    manifest = parseManifest(await readText(file) ?? '', process.env)
  } catch (error) {
    const message = `${basename(file)}${messageOf(error).startsWith(':') ? '' : ' '}${messageOf(error).trim()}`
    return [{ name: basename(folder), path: file, reason: 'manifest-invalid', message: brief(message, 1_000) }]
  }
  const found = await together(manifest.entries, entry =>
    orRefused(entry.key, file, readEntry(file, entry, codes, signal)))
  const refused = manifest.refused.map(({ key, reason, message }) => ({ name: key, path: file, reason, message }))
  return [...found, ...refused]
}

async function readEntry (file: string, entry: Entry, codes: CodeCache, signal: AbortSignal): Promise<EngineSkill> {
  const folder = dirname(file)
  if (entry.runtime === 'docker') return await readContainerSkill(folder, entry)
  const { source } = entry
  switch (sourceKind(source)) {
    case 'remote':
      throw new Refusal('source-remote', file, `the source ${source} is elsewhere: clone it, and name its folder`)
    case 'image':
      throw new Refusal('docker-absent', file, `the source ${source} is an image, and the runtime is not docker`)
    case 'installed':
      throw new Refusal('not-installed', file, `the source ${source} is in the engine's own store: name its folder`)
    case 'path':
  }
  const place = resolve(folder, source)
  const { kind } = await kindOf(place)
  if (kind !== 'skill') throw new Refusal('source-missing', file, `the source ${source} is no folder with a skill`)
  return await readSkill(place, entry, codes, signal)
}

/** A skill of a container. A SKILL.md beside the manifest describes the entry whose key is its name. */
async function readContainerSkill (folder: string, entry: Entry): Promise<EngineSkill> {
  const { key, container, notes } = entry
  const name = skillNameOf(key)
  if (name === '' || container === undefined) throw new Refusal('name-invalid', join(folder, key), 'the key is no name')
  const beside = await readInstructions(folder).then(text => text === undefined ? undefined : parseSkillMd(text))
    .catch(() => undefined) // it describes no entry
  const text = beside?.name === key ? beside : undefined
  const description = entry.description ?? text?.description ?? ''
  const image = 'unusable' in container ? entry.source.replace(/^docker:/, '') : container.image
  const about = description === '' ? `Run ${image}` : description
  const args = { type: 'array', items: { type: 'string' }, description: 'Arguments of the program' }
  return {
    name, description, version: text?.version ?? '0.0.0', runtime: 'container', folder, notes, container,
    tools: [{ name: 'run', description: about, parameters: [{ name: 'args', required: false, schema: args }] }],
    allowedTools: [], instances: new Map(), defaults: entry.defaults, services: entry.services,
    ...(text !== undefined && { instructions: text.instructions })
  }
}
