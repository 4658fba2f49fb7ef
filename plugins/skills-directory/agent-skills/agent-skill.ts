import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  messageOf, replaceFile, SKILL_NAME, type ManifestFrame, type SkillWarning, type ToolDefinition
} from '../../../kernel/index.ts'
import { scriptTools } from './agent-scripts.ts'
import { firstLine, readText, SkillFault, textBytesMax } from '../shared/files.ts'
import { guessFrontmatter, parseFrontmatter, splitInstructions } from '../shared/frontmatter.ts'
import { completePermissions } from '../shared/manifest.ts'
import type { DescribedSkill, DescriberData, Folder } from '../shared/protocol.ts'
import { defineTools, type ToolSource } from '../shared/tools.ts'

/** The limits of the format, in characters; `descriptionMax` is the length at which a description is cut off. */
const descriptionUsual = 1_024
const descriptionMax = 8_192
const compatibilityMax = 500
/** The keys that the format defines for the frontmatter. */
const formatKeys = new Set(['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'])

/**
 * Reads a folder in the format of Agent Skills: a SKILL.md with instructions for an agent, the files that it refers to,
 * and scripts. Such folders are made for other programs too, so the reader is lenient: most defects give a warning.
 * @param manifest the content of a `skill.toml` with `runtime = "agent"`: it may set permissions and version
 * @throws SkillFault when no skill can be made of the folder
 */
export async function readAgentSkill (
  folder: Folder, path: string, manifest: ManifestFrame, data: DescriberData
): Promise<{ skill: DescribedSkill, warnings: SkillWarning[] }> {
  const warnings: SkillWarning[] = []
  const warn = (warning: string, at = path): void => { warnings.push({ name: folder.name, path: at, warning }) }
  const { yaml, instructions } = splitInstructions(readText(path, textBytesMax))
  const values = yaml === undefined ? {} : readFrontmatter(path, yaml, warn)
  if (yaml === undefined) warn(`${basename(path)} has no frontmatter`)
  if (basename(path) !== 'SKILL.md') warn('the file should be called SKILL.md')
  checkName(folder, values['name'], warn)
  checkOthers(values, warn)
  const description = manifest.description ?? describe(path, values['description'], instructions, warn)
  const scripts = scriptTools(folder, instructions, warn)
  const version = manifest.version ?? versionOf(values['metadata'])
  const directory = folder.path
  return {
    skill: {
      name: folder.name,
      description,
      ...(version !== undefined && { version }),
      ...(instructions !== '' && { instructions }),
      directory,
      runtime: 'agent',
      ...(manifest.concurrency !== undefined && { concurrency: manifest.concurrency }),
      permissions: completePermissions(manifest.permissions ?? { env: ['HOME'] }, new Set()),
      module: await writeModule({ folder: directory, instructions }, data),
      revision: folder.revision,
      tools: [...fileTools(folder.name, description), ...scripts]
    },
    warnings
  }
}

type Warn = (warning: string, at?: string) => void

function readFrontmatter (path: string, yaml: string, warn: Warn): Record<string, unknown> {
  try {
    return parseFrontmatter(yaml)
  } catch (error) {
    warn(`${basename(path)}${messageOf(error)}; it was read line by line`)
    return guessFrontmatter(yaml)
  }
}

function checkName ({ name, path }: Folder, value: unknown, warn: Warn): void {
  if (basename(path) !== name) {
    warn(`the folder's name "${basename(path)}" is not one of a-z, 0-9 and -: the skill is called "${name}"`, path)
  }
  if (value === undefined || value === null) {
    warn('SKILL.md has no name: the skill is called by its folder\'s')
  } else if (typeof value !== 'string' || !SKILL_NAME.test(value)) {
    warn(`SKILL.md: name must be 1 to 64 of a-z, 0-9 and -: the skill is called "${name}"`)
  } else if (value !== name) {
    warn(`SKILL.md names the skill "${value}", but its folder is "${basename(path)}": it is called "${name}"`)
  }
}

function checkOthers (values: Record<string, unknown>, warn: Warn): void {
  const unknown = Object.keys(values).filter(key => !formatKeys.has(key))
  if (unknown.length > 0) {
    warn(firstLine(
      `SKILL.md has keys that the format does not know: ${unknown.map(key => `"${key.slice(0, 64)}"`).join(', ')}`
    ))
  }
  const { license, compatibility, metadata, 'allowed-tools': tools } = values
  if (license !== undefined && typeof license !== 'string') warn('SKILL.md: license should be a text')
  if (compatibility !== undefined && (typeof compatibility !== 'string' || compatibility.length > compatibilityMax)) {
    warn(`SKILL.md: compatibility should be a text of at most ${compatibilityMax} characters`)
  }
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))) {
    warn('SKILL.md: metadata should be a table')
  }
  if (
    tools !== undefined
    && typeof tools !== 'string'
    && !(Array.isArray(tools) && tools.every(tool => typeof tool === 'string'))
  ) {
    warn('SKILL.md: allowed-tools should be a text or a list of texts')
  }
}

/** The description; where it is missing, the first paragraph of the instructions. @throws SkillFault without either */
function describe (path: string, value: unknown, instructions: string, warn: Warn): string {
  let text = typeof value === 'string' ? value.trim() : ''
  if (text === '') {
    text = instructions.split(/\n\s*\n/)
      .map(paragraph => paragraph.replace(/^#+\s*/gm, '').replace(/\s+/g, ' ').trim())
      .find(paragraph => paragraph !== '')
      ?.slice(0, descriptionUsual) ?? ''
    if (text === '') throw new SkillFault(path, `${basename(path)} has no description`)
    warn(`${basename(path)} has no description: the beginning of its text stands in for it`)
  }
  if (text.length > descriptionUsual) {
    warn(`SKILL.md: description has ${text.length} characters; the format allows ${descriptionUsual}`)
  }
  return text.slice(0, descriptionMax)
}

function versionOf (metadata: unknown): string | undefined {
  const version: unknown = typeof metadata === 'object' && metadata !== null && Object.hasOwn(metadata, 'version')
    ? Reflect.get(metadata, 'version')
    : undefined
  const text = typeof version === 'number' ? String(version) : version
  return typeof text === 'string' && text !== '' && text.length <= 64 ? text : undefined
}

/** The tools that every Agent Skills folder has. They run in a script thread; see agent-tools.ts. */
function fileTools (name: string, description: string): ToolDefinition[] {
  const path =
    { name: 'path', type: 'string', description: 'Path within the skill\'s folder', maxLength: 4096 } as const
  const sources: ToolSource[] = [{
    name: 'instructions',
    description: firstOf(`Read the instructions of the skill ${name}, before anything else of it is used. ${description}`),
    parameters: []
  }, {
    name: 'read',
    description: `Read a file of the skill ${name}, such as one that its instructions refer to: its text, or a range of its lines, or its bytes in base64`,
    parameters: [
      { ...path, required: true },
      { name: 'from_line', type: 'integer', description: 'First line, from 1', default: 1, minimum: 1 },
      { name: 'lines', type: 'integer', description: 'How many lines; all where absent', minimum: 1 },
      {
        name: 'encoding',
        type: 'string',
        description: 'utf8: text; base64: bytes, of any file',
        enum: ['utf8', 'base64'],
        default: 'utf8'
      }
    ]
  }, {
    name: 'list',
    description: `List the files of the skill ${name} with their sizes in bytes, in its folder or one below`,
    parameters: [{ ...path, default: '.' }]
  }]
  return defineTools(sources).map(tool => ({ ...tool, runtime: 'script' }))
}

function firstOf (text: string): string {
  return text.length > 2000 ? `${text.slice(0, 1999)}…` : text
}

/**
 * Writes a module with the tools of a folder. Its name is the hash of its content, so that running calls keep the
 * instructions with which they began.
 * @returns the path of the module
 */
async function writeModule (
  about: { folder: string, instructions: string },
  { cache_dir }: DescriberData
): Promise<string> {
  const tools = new URL('../agent-skills/agent-tools.js', import.meta.url).href
  const text = `import { toolsOf } from ${JSON.stringify(tools)}\nexport default { tools: toolsOf(${JSON.stringify(about)}) }\n`
  mkdirSync(cache_dir, { recursive: true, mode: 0o700 })
  const path = join(cache_dir, `${createHash('sha256').update(text).digest('hex')}.mjs`)
  await replaceFile(path, text, { durable: false })
  return path
}
