import { join, resolve, sep } from 'node:path'
import { messageOf } from '../../../kernel/index.ts'
import { parsePackage, type About } from '../config/small-files.ts'
import { isFile, readText } from './files.ts'

/** What a folder is. */
export type FolderKind = { kind: 'manifest', file: string } | { kind: 'skill' } | { kind: 'none' }

const endings = ['js', 'mjs', 'ts']
/** The names of a skill's code, in the order in which they are looked for. */
const codeFiles = ['skill', 'index', join('src', 'skill'), join('src', 'index')]
  .flatMap(name => endings.map(ending => `${name}.${ending}`))
const compiledFiles = ['skill.wasm', join('dist', 'skill.wasm')]

/** The names of files that make a folder a skill, or change what it is. */
export const knownFiles: readonly string[] = [
  '.skill-engine.toml', 'skill-engine.toml', 'manifest.toml', 'SKILL.md', 'skill.md', 'skill.yaml', 'package.json',
  'skill.config.toml', ...codeFiles, ...compiledFiles
]

/** What a folder is, by the names of its files: the first rule that fits. */
export async function kindOf (folder: string): Promise<FolderKind> {
  for (const file of ['.skill-engine.toml', 'skill-engine.toml', 'manifest.toml']) {
    if (await isFile(join(folder, file))) return { kind: 'manifest', file: join(folder, file) }
  }
  for (const file of [...codeFiles, ...compiledFiles, 'SKILL.md', 'skill.md', 'skill.yaml']) {
    if (await isFile(join(folder, file))) return { kind: 'skill' }
  }
  return { kind: 'none' }
}

/**
 * Finds the code of a folder: JavaScript or TypeScript, by `main` of package.json when that file exists and then by the
 * usual names; else a component in WebAssembly.
 */
export async function findCode (folder: string, main: string | undefined): Promise<string | undefined> {
  const named = main === undefined ? undefined : resolve(folder, main)
  const inside = named?.startsWith(`${folder}${sep}`) === true && /\.[cm]?[jt]s$/.test(named)
  const usual = [...codeFiles, ...compiledFiles].map(name => join(folder, name))
  for (const file of [...(inside ? [named] : []), ...usual]) {
    if (await isFile(file)) return file
  }
  return undefined
}

/** The text of SKILL.md, else of skill.md. @throws Error */
export async function readInstructions (folder: string): Promise<string | undefined> {
  return await readText(join(folder, 'SKILL.md')) ?? await readText(join(folder, 'skill.md'))
}

/** What package.json says; a note where it can't be read. */
export async function readPackage (folder: string, notes: string[]): Promise<About & { main?: string }> {
  try {
    const text = await readText(join(folder, 'package.json'))
    return text === undefined ? {} : parsePackage(text)
  } catch (error) {
    notes.push(`package-unreadable: ${messageOf(error)}`)
    return {}
  }
}
