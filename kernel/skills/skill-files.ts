import { lstat, open, readdir, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { parameterLines } from './parameter-lines.ts'
import { SkilletError } from '../lib/errors.ts'
import type { SkillDefinition } from '../contracts/skill.ts'

/** The name of the instructions file in the folder of a skill. */
export const instructionsFile = 'SKILL.md'
/** Folders of a skill whose files are served to its users, beside the instructions. */
const folders = ['references', 'assets', 'scripts']
/** The largest file that is served, in bytes. */
export const fileBytesMax = 1_048_576
/** The maximum number of served files of a skill, and the maximum depth of their folders. */
const limits = { filesMax: 511, depthMax: 8 }

export interface SkillFile { path: string, bytes: number }

/**
 * The text of SKILL.md: name, description and instructions. For a skill without instructions it lists the tools. It is
 * made from the loaded definition, so that it always describes the skill that runs.
 */
export function instructionsOf ({ name, description, version, instructions, tools }: SkillDefinition): string {
  const matter = [
    `name: ${name}`,
    `description: ${JSON.stringify(description)}`,
    ...(version === undefined ? [] : ['metadata:', `  version: ${JSON.stringify(version)}`])
  ]
  const sections = tools.map(tool => {
    const parameters = parameterLines(tool).map(line => `\n- ${line}`).join('')
    return `\n## ${tool.name}\n\n${tool.description}\n${parameters}\n`
  })
  const body = instructions?.trim() ? instructions.trim() : `# ${name}\n\n${description}\n${sections.join('')}`
  return `---\n${matter.join('\n')}\n---\n\n${body.trimEnd()}\n`
}

/** The files of a skill that `readSkillFile` can read, the instructions first. */
export async function listSkillFiles (skill: SkillDefinition): Promise<SkillFile[]> {
  const files: SkillFile[] = []
  const walk = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(join(skill.directory, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
      const path = `${folder}/${entry.name}`
      if (files.length >= limits.filesMax || !isServed(path)) continue
      if (entry.isDirectory() && depth < limits.depthMax) await walk(path, depth + 1)
      else if (entry.isFile()) {
        const { size } = await lstat(join(skill.directory, path))
        if (size <= fileBytesMax) files.push({ path, bytes: size })
      }
    }
  }
  for (const folder of folders) await walk(folder, 1)
  return [{ path: instructionsFile, bytes: Buffer.byteLength(instructionsOf(skill)) }, ...files]
}

/**
 * Reads a file of a skill.
 * @throws SkilletError NOT_FOUND when the file does not exist, is too large, or lies outside the folder of the skill
 */
export async function readSkillFile (skill: SkillDefinition, path: string): Promise<Buffer> {
  if (path === instructionsFile) return Buffer.from(instructionsOf(skill))
  const missing = new SkilletError('NOT_FOUND', `The skill "${skill.name}" has no file "${path.slice(0, 256)}"`, {
    skill: skill.name
  })
  if (!isServed(path)) throw missing
  try {
    const [home, file] = await Promise.all([realpath(skill.directory), realpath(join(skill.directory, path))])
    if (!file.startsWith(`${home}${sep}`)) throw missing
    const handle = await open(file)
    try {
      const { size } = await handle.stat()
      if (size > fileBytesMax) throw missing
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch {
    throw missing
  }
}

/** Whether a path lies in a served folder, and has no hidden part and no `node_modules` in it. */
function isServed (path: string): boolean {
  const [first = '', ...rest] = path.split('/')
  return folders.includes(first)
    && rest.length > 0
    && rest.every(part => part !== '' && !part.startsWith('.') && part !== 'node_modules' && !/[\\\0]/.test(part))
}
