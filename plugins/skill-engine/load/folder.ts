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

/** The code of a folder: JavaScript or TypeScript, or something compiled that can't be run here. */
export interface Code { entry: string | undefined, compiled: boolean }

/** Finds the code: `main` of package.json when that file exists, then the usual names. */
export async function findCode (folder: string, main: string | undefined): Promise<Code> {
  const named = main === undefined ? undefined : resolve(folder, main)
  const inside = named?.startsWith(`${folder}${sep}`) === true && /\.[cm]?[jt]s$/.test(named)
  for (const file of [...(inside ? [named] : []), ...codeFiles.map(name => join(folder, name))]) {
    if (await isFile(file)) return { entry: file, compiled: false }
  }
  for (const file of compiledFiles) if (await isFile(join(folder, file))) return { entry: undefined, compiled: true }
  return { entry: undefined, compiled: false }
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
