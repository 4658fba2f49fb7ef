import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { basename } from 'node:path'
import { messageOf, type ManifestFrame, type QuarantinedSkill, type SkillWarning } from '../../../kernel/index.ts'
import { readToolList, toolListFile, type ToolList } from '../../toolkit/mcp/tool-list.ts'
import { firstLine, SkillFault } from '../shared/files.ts'
import { completePermissions } from '../shared/manifest.ts'
import type { DescribedSkill } from '../shared/protocol.ts'
import { defineMcpTools } from './define-mcp-tools.ts'
import { specOf } from './mcp-manifest.ts'

const instructionsMax = 65_536

/** What is known of the skill before its manifest is read. */
type Common = Pick<DescribedSkill, 'name' | 'instructions' | 'directory' | 'runtime'>

interface Read { skill: DescribedSkill, broken: QuarantinedSkill[], warnings: SkillWarning[] }

interface Source {
  manifestPath: string
  manifest: ManifestFrame
  /** The text of the manifest. */
  text: string
  common: Common
  /** The description in SKILL.md. */
  description: string | undefined
  /** The folder of the lists of tools. */
  lists_folder: string
}

/**
 * Reads a skill whose tools are those of an MCP server, from its manifest and the list that the executor keeps. The
 * server is not asked.
 * @returns the skill and the file with its list, which may be missing
 * @throws SkillFault
 */
export function readMcpSkill (source: Source): Read & { list_file: string } {
  const { manifestPath, manifest, common, text, lists_folder } = source
  const list_file = toolListFile(lists_folder, common.name, common.directory)
  if (manifest.tools !== undefined) {
    throw new SkillFault(manifestPath, 'skill.toml says runtime = "mcp" and has [[tools]]; those of an MCP server are its own')
  }
  if (manifest.mcp === undefined) throw new SkillFault(manifestPath, 'skill.toml says runtime = "mcp" and has no [mcp]')
  mkdirSync(lists_folder, { recursive: true, mode: 0o700 }) // a file in a folder that is not there can't be watched
  const { permissions, target } = wayOf(source, manifest.mcp, list_file)
  const list = readToolList(list_file, target.way)
  const { tools, broken, notes } = defineMcpTools(list?.listed?.tools ?? [], manifest.mcp)
  const instructions = common.instructions ?? list?.listed?.instructions?.slice(0, instructionsMax)
  const version = manifest.version ?? list?.listed?.server?.version.slice(0, 64)
  const revision = createHash('sha256').update(text).digest('hex').slice(0, 32)
  return {
    skill: {
      ...common,
      ...(instructions !== undefined && instructions !== '' && { instructions }),
      description: descriptionOf(source, list),
      ...(version !== undefined && { version }),
      permissions, target, revision, tools
    },
    broken: broken.map(({ tool, error }) => ({ name: common.name, tool, path: manifestPath, error })),
    warnings: [...notes, ...stateOf(list, common.name)].map(warning =>
      ({ name: common.name, path: manifestPath, warning })),
    list_file
  }
}

function wayOf (
  { manifestPath, manifest, common }: Source, table: NonNullable<ManifestFrame['mcp']>, list_file: string
) {
  try {
    const permissions = completePermissions(manifest.permissions, new Set())
    return { permissions, target: specOf(table, common.directory, list_file, permissions) }
  } catch (error) {
    throw new SkillFault(manifestPath, `${basename(manifestPath)}: ${messageOf(error)}`, { cause: error })
  }
}

function descriptionOf ({ manifest, description, common }: Source, list: ToolList | undefined): string {
  const [first] = (list?.listed?.instructions ?? '').split('\n', 1)
  return manifest.description ?? description ?? (
    first?.trim().slice(0, 1024) || `The tools of the MCP server ${common.name}`
  )
}

/** What is odd about the state of a server, with the remedy. */
function stateOf (list: ToolList | undefined, name: string): string[] {
  if (list === undefined) {
    return ['its tools are not known yet: the server is asked while `skillet serve` or `skillet mcp` runs']
  }
  const { listed, fault } = list
  const unread = listed?.of === undefined
    ? []
    : [`the server has ${listed.of} tools or more, of which ${listed.tools.length} were read`]
  if (fault === undefined) return unread
  const known = listed === undefined ? 'its tools are not known' : 'the tools that it had are listed'
  return [...unread, `its server can't be used, ${known}: ${firstLine(fault)}; look into it: skillet doctor (${name})`]
}
