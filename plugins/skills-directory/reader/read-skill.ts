import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import {
  messageOf, type ManifestFrame, type QuarantinedSkill, type SkillDefinition, type SkillWarning
} from '../../../kernel/index.ts'
import { readAgentSkill } from '../agent-skills/agent-skill.ts'
import { documentBytesMax } from '../../toolkit/openapi/limits.ts'
import { httpOf, readApi } from '../../toolkit/openapi/read-api.ts'
import { firstLine, isThere, readText, SkillFault } from '../shared/files.ts'
import { DOCUMENT, INSTRUCTIONS, MANIFEST, MODULES } from '../../toolkit/skill-folder.ts'
import { readMcpSkill } from '../mcp-skill/read-mcp-skill.ts'
import { completePermissions, readInstructions, readManifest, readTool } from '../shared/manifest.ts'
import type { DescribedSkill, Description, DescriberData, Folder } from '../shared/protocol.ts'
import { countsForRevision } from '../listing/revision.ts'
import { findModule, readScript } from './script.ts'
import { defineEach, type BrokenTool, type ToolSource } from '../shared/tools.ts'

/** The number of files elsewhere that a fault lists. */
const outsideMax = 1_000

/** Reads one skill folder. Never throws: an error becomes a fault. Imports the module of a script skill. */
export async function describeSkill (folder: Folder, data: DescriberData): Promise<Description> {
  const importing: Importing = { begun: false, inputs: new Set() }
  const outside = (): string[] => [...importing.inputs].filter(file => !countsForRevision(folder.path, file))
  try {
    const { skill, broken, warnings } = await read(folder, data, importing)
    const digest = createHash('sha256').update(JSON.stringify(skill)).digest('hex').slice(0, 32)
    return { skill: { ...skill, digest }, broken, warnings, outside: outside(), ran_code: importing.begun }
  } catch (error) {
    const path = error instanceof SkillFault ? error.path : folder.path
    return {
      fault: { name: folder.name, path, error: firstLine(messageOf(error)), outside: outside().slice(0, outsideMax) },
      ran_code: importing.begun
    }
  }
}

interface Read { skill: DescribedSkill, broken: QuarantinedSkill[], warnings: SkillWarning[] }

/**
 * Whether code of the skill has begun to run, and the files from which its module was built, or that a failed build
 * looked for.
 */
interface Importing { begun: boolean, inputs: Set<string> }

async function read (skillFolder: Folder, data: DescriberData, importing: Importing): Promise<Read> {
  const { path: folder, name } = skillFolder
  const manifestPath = join(folder, MANIFEST)
  const manifested = isThere(manifestPath)
  const { manifest, text } = manifested ? readManifest(manifestPath) : { manifest: {} as ManifestFrame, text: '' }
  refuseOtherName(manifestPath, manifest.name, name)
  const instructionsPath = join(folder, INSTRUCTIONS.find(file => isThere(join(folder, file))) ?? INSTRUCTIONS[0])
  if (manifest.runtime === 'agent' || (!manifested && !skillFolder.module)) {
    refuseAgentFault(skillFolder, manifestPath, manifest)
    return { ...await readAgentSkill(skillFolder, instructionsPath, manifest, data), broken: [] }
  }
  const about = isThere(instructionsPath) ? readInstructions(instructionsPath) : undefined
  refuseOtherName(instructionsPath, about?.name, name)
  const module = findModule(folder, MODULES)
  const runtime = manifest.runtime ?? (module === undefined ? 'native' : 'script')
  const common: Common = {
    name,
    ...(about !== undefined && about.instructions !== '' && { instructions: about.instructions }),
    ...(manifest.reads_files === true && { reads_files: true }),
    ...(manifest.config_from !== undefined && { config_from: manifest.config_from }),
    directory: folder,
    runtime
  }
  const source = { manifestPath, manifest, module, common, description: about?.description }
  if (runtime !== 'mcp' && manifest.mcp !== undefined) {
    throw new SkillFault(manifestPath, 'skill.toml has [mcp], which needs runtime = "mcp"')
  }
  if (runtime === 'mcp') return readServer(source, text, data, importing)
  if (runtime === 'native') return readNative(source, text)
  if (runtime === 'http') return readHttp(source, text)
  return await readModule(source, skillFolder.revision, data, importing)
}

type Common = Pick<DescribedSkill, 'name' | 'instructions' | 'reads_files' | 'config_from' | 'directory' | 'runtime'>

/** The files in a skill's folder that describe the skill, with the contents that were read. */
interface Source {
  manifestPath: string
  manifest: ManifestFrame
  /** The absolute path of its module, if it has one. */
  module: string | undefined
  common: Common
  /** The description in SKILL.md. */
  description: string | undefined
}

/** @throws SkillFault when the folder of an Agent Skill has parts that only other kinds of skills may have */
function refuseAgentFault ({ module }: Folder, manifestPath: string, { tools }: ManifestFrame): void {
  if (module) throw new SkillFault(manifestPath, 'skill.toml says runtime = "agent", but the folder has a module')
  if (tools === undefined) return
  const where = 'those of an Agent Skills folder are its scripts'
  throw new SkillFault(manifestPath, `skill.toml says runtime = "agent" and has [[tools]]; ${where}`)
}

/**
 * Reads a skill of commands.
 * @param text text of its manifest
 */
function readNative ({ manifestPath, manifest, module, common, description }: Source, text: string): Read {
  if (module !== undefined) {
    throw new SkillFault(manifestPath, `skill.toml says runtime = "native", but the folder has a ${basename(module)}`)
  }
  const { tools, permissions } = manifest
  if (tools === undefined || tools.length === 0) throw new SkillFault(manifestPath, 'skill.toml has no [[tools]]')
  const texts = described(manifestPath, manifest, {}, description)
  const { defined, broken } = within(manifestPath, () =>
    withTools(manifestPath, common.name, tools.map(readTool), permissions))
  const revision = createHash('sha256').update(text).digest('hex').slice(0, 32)
  return { skill: { ...common, ...texts, ...defined, revision }, broken, warnings: [] }
}

/**
 * Reads a web API.
 * @param text text of its manifest
 */
function readHttp ({ manifestPath, manifest, module, common, description }: Source, text: string): Read {
  if (module !== undefined || manifest.tools !== undefined) {
    throw new SkillFault(manifestPath, `skill.toml says runtime = "http": its tools are in ${DOCUMENT} alone`)
  }
  const path = join(common.directory, DOCUMENT)
  const document = readText(path, documentBytesMax)
  const texts = described(manifestPath, manifest, {}, description)
  const { tools, left_out } = within(path, () => readApi(document, within(manifestPath, () => httpOf(manifest.http))))
  const revision = createHash('sha256').update(text).update(document).digest('hex').slice(0, 32)
  const { read } = manifest.permissions ?? {}
  const permissions = { ...completePermissions(manifest.permissions, new Set()), ...(read !== undefined && { read }) }
  return {
    // What it may send are files that callers name.
    skill: { ...common, ...(read !== undefined && { reads_files: true }), ...texts, tools, permissions, revision },
    broken: left_out.map(({ tool, error }) =>
      ({ name: common.name, tool, path, error: located(path, firstLine(error)) })),
    warnings: []
  }
}

/** Reads a skill of an MCP server. The file with its tools may change, and lies elsewhere. */
function readServer (
  { manifestPath, manifest, module, common, description }: Source, text: string, { lists_folder }: DescriberData,
  importing: Importing
): Read {
  if (module !== undefined) {
    throw new SkillFault(manifestPath, `skill.toml says runtime = "mcp", but the folder has a ${basename(module)}`)
  }
  const { list_file, ...read } = readMcpSkill({ manifestPath, manifest, text, common, description, lists_folder })
  importing.inputs.add(list_file)
  return read
}

/** Reads a skill of functions, whose module is imported. */
async function readModule (
  { manifestPath, manifest, module, common, description }: Source,
  revision: string,
  data: DescriberData,
  importing: Importing
): Promise<Read> {
  if (module === undefined) {
    throw new SkillFault(manifestPath, `skill.toml says runtime = "script", but the folder has no ${MODULES.join(', ')}`)
  }
  if (manifest.tools !== undefined) {
    throw new SkillFault(manifestPath, `skill.toml has [[tools]]; those of a script skill are in its ${basename(module)}`)
  }
  importing.begun = true
  const script = await readScript(module, revision, data, importing.inputs)
  const texts = described(module, manifest, script.file, description)
  const permissions = manifest.permissions ?? script.file.permissions
  const { defined, broken } = within(module, () => withTools(module, common.name, script.tools, permissions))
  return { skill: { ...common, ...texts, ...defined, module: script.module, revision }, broken, warnings: [] }
}

function refuseOtherName (path: string, name: string | undefined, folder: string): void {
  if (name !== undefined && name !== folder) {
    throw new SkillFault(path, `${basename(path)} names the skill "${name}", but its folder is "${folder}"; they must be equal`)
  }
}

/** Description and version, each from the first source that has it. */
function described (
  path: string, manifest: ManifestFrame, script: { description?: string, version?: string },
  description: string | undefined
): Pick<SkillDefinition, 'description' | 'version'> {
  const text = manifest.description ?? script.description ?? description
  if (text === undefined) throw new SkillFault(path, 'the skill has no description')
  const version = manifest.version ?? script.version
  return { description: text, ...(version !== undefined && { version }) }
}

/**
 * Tools and permissions. A broken tool is left out, unless all tools are broken.
 * @throws Error with the fault of the first tool, when all tools are broken
 */
function withTools (
  path: string, skill: string, sources: readonly (ToolSource | BrokenTool)[], permissions: ManifestFrame['permissions']
): { defined: Pick<SkillDefinition, 'tools' | 'permissions'>, broken: QuarantinedSkill[] } {
  const { tools, broken } = defineEach(sources)
  const [first, ...more] = broken
  if (tools.length === 0 && first !== undefined) {
    throw new Error(`${first.error}${more.length === 0 ? '' : ` (and ${more.length} more of its tools are broken)`}`)
  }
  const parameters = new Set(
    sources.flatMap(source => 'error' in source ? [] : source.parameters.map(parameter => parameter.name))
  )
  return {
    defined: { tools, permissions: completePermissions(permissions, parameters) },
    broken: broken.map(({ tool, error }) => ({ name: skill, tool, path, error: located(path, error) }))
  }
}

/** Puts the file's path before a message that does not begin with it. */
function located (path: string, error: string): string {
  return error.startsWith(basename(path)) ? error : `${basename(path)}: ${error}`
}

/** Turns an error that is thrown by `work` into a fault of this file. */
function within<T> (path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new SkillFault(path, located(path, messageOf(error)), { cause: error })
  }
}
