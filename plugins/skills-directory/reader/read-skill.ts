import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { messageOf, type ManifestFrame } from '../../../kernel/index.ts'
import { readAgentSkill } from '../agent-skills/agent-skill.ts'
import { documentBytesMax } from '../../toolkit/openapi/limits.ts'
import { httpOf, readApi } from '../../toolkit/openapi/read-api.ts'
import { firstLine, isThere, readText, SkillFault } from '../shared/files.ts'
import { DOCUMENT, INSTRUCTIONS, MANIFEST, MODULES } from '../../toolkit/skill-folder.ts'
import { readMcpSkill } from '../mcp-skill/read-mcp-skill.ts'
import { buildPrograms } from '../wasm-skill/build-programs.ts'
import { checkConcurrencyOf } from '../shared/concurrency.ts'
import { completePermissions, readInstructions, readManifest } from '../shared/manifest.ts'
import type { Awaiting, Description, DescriberData, FolderToRead } from '../shared/protocol.ts'
import { countsForRevision } from '../listing/revision.ts'
import { containerTarget } from './container-target.ts'
import { importExported, type Exported } from './exported.ts'
import { checkScript, findModule, prepareScript } from './script.ts'
import {
  commandsIn, described, located, refuseOtherName, within, withTools, type Common, type Read, type Source
} from './source.ts'

/** The number of files elsewhere that a fault lists. */
const outsideMax = 1_000

/**
 * Reads one skill folder. Never throws: an error becomes a fault. Imports the module of a script skill, where it may
 * run in this thread.
 */
export async function describeSkill (folder: FolderToRead, data: DescriberData): Promise<Description> {
  const importing: Importing = { begun: false, inputs: new Set() }
  const outside = (): string[] => [...importing.inputs].filter(file => !countsForRevision(folder.path, file))
  try {
    const found = await read(folder, data, importing)
    if ('module' in found) return { awaiting: { ...found, outside: outside() }, ran_code: false }
    const { skill, broken, warnings } = found
    checkConcurrencyOf(skill)
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

/**
 * Whether code of the skill has begun to run, and the files from which its module was built, or that a failed build
 * looked for.
 */
interface Importing { begun: boolean, inputs: Set<string> }

/** A module that must be imported elsewhere. */
type Unimported = Omit<Awaiting, 'outside'>

async function read (
  skillFolder: FolderToRead, data: DescriberData, importing: Importing
): Promise<Read | Unimported> {
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
    ...(manifest.concurrency !== undefined && { concurrency: manifest.concurrency }),
    directory: folder,
    runtime
  }
  const source = { manifestPath, manifest, module, common, description: about?.description }
  if (runtime !== 'mcp' && manifest.mcp !== undefined) {
    throw new SkillFault(manifestPath, 'skill.toml has [mcp], which needs runtime = "mcp"')
  }
  if (runtime === 'mcp') return readServer(source, text, data, importing)
  if (runtime !== 'container' && manifest.container !== undefined) {
    throw new SkillFault(manifestPath, 'skill.toml has [container], which needs runtime = "container"')
  }
  if (runtime === 'native' || runtime === 'container') return readNative(source, text)
  if (runtime === 'http') return readHttp(source, text)
  if (runtime === 'wasm') return await readWasm(source, text, data)
  return await readModule(source, skillFolder, data, importing)
}

/** @throws SkillFault when the folder of an Agent Skill has parts that only other kinds of skills may have */
function refuseAgentFault ({ module }: FolderToRead, manifestPath: string, { tools }: ManifestFrame): void {
  if (module) throw new SkillFault(manifestPath, 'skill.toml says runtime = "agent", but the folder has a module')
  if (tools === undefined) return
  const where = 'those of an Agent Skills folder are its scripts'
  throw new SkillFault(manifestPath, `skill.toml says runtime = "agent" and has [[tools]]; ${where}`)
}

/**
 * Reads a skill of commands, perhaps in a container.
 * @param text text of its manifest
 */
function readNative (source: Source, text: string): Read {
  const { manifestPath, manifest, common, description } = source
  const commands = commandsIn(source)
  const texts = described(manifestPath, manifest, {}, description)
  const { defined, broken } = within(manifestPath, () =>
    withTools(manifestPath, common.name, commands, manifest.permissions))
  const revision = createHash('sha256').update(text).digest('hex').slice(0, 32)
  const target = common.runtime === 'container'
    ? within(manifestPath, () => ({ target: containerTarget(manifest, defined) }))
    : {}
  return { skill: { ...common, ...texts, ...defined, ...target, revision }, broken, warnings: [] }
}

/**
 * Reads a skill of commands in WebAssembly. None of their code is run.
 * @param text text of its manifest
 */
async function readWasm (source: Source, text: string, data: DescriberData): Promise<Read> {
  const { manifestPath, manifest, common, description } = source
  const commands = commandsIn(source)
  const texts = described(manifestPath, manifest, {}, description)
  const { tools, ...built } = await buildPrograms(common.directory, commands, manifest.permissions, data)
  const { defined, broken } = within(manifestPath, () =>
    withTools(manifestPath, common.name, tools, manifest.permissions))
  const revision = createHash('sha256').update(text).update(basename(built.module)).digest('hex').slice(0, 32)
  return { skill: { ...common, ...texts, ...defined, module: built.module, revision }, broken, warnings: [] }
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

/** Reads a skill of functions, whose module is imported: here, or before in a confined process. */
async function readModule (
  { manifestPath, manifest, module: path, common, description }: Source, folder: FolderToRead, data: DescriberData,
  importing: Importing
): Promise<Read | Unimported> {
  if (path === undefined) {
    throw new SkillFault(manifestPath, `skill.toml says runtime = "script", but the folder has no ${MODULES.join(', ')}`)
  }
  if (manifest.tools !== undefined) {
    throw new SkillFault(manifestPath, `skill.toml has [[tools]]; those of a script skill are in its ${basename(path)}`)
  }
  const { revision, in_thread, exported } = folder
  const { isolation, read, env = [] } = manifest.permissions ?? {}
  const isHere = in_thread && isolation === undefined
  importing.begun = isHere
  const module = await prepareScript(path, revision, data, importing.inputs)
  let found: Exported
  if (exported?.module === module) found = exported.found
  else if (isHere) found = await importExported(path, module)
  else return { path, module, ...(isolation !== undefined && { isolation }), ...(read !== undefined && { read }), env }
  const script = checkScript(path, found)
  const texts = described(path, manifest, script.file, description)
  const permissions = manifest.permissions ?? script.file.permissions
  const { defined, broken } = within(path, () => withTools(path, common.name, script.tools, permissions))
  const { concurrency = script.file.concurrency } = manifest
  const rule = concurrency === undefined ? {} : { concurrency }
  return { skill: { ...common, ...texts, ...defined, ...rule, module, revision }, broken, warnings: [] }
}
