import { parse, TomlError } from 'smol-toml'
import {
  compileCheck, isObject, ManifestFrame, ManifestTool, messageOf, SKILL_NAME, type Check, type JsonObject,
  type Permissions
} from '../../../kernel/index.ts'
import { NetworkList } from '../../toolkit/network/network-list.ts'
import { firstLine, readText, SkillFault, textBytesMax } from './files.ts'
import { parseFrontmatter, splitInstructions } from './frontmatter.ts'
import type { BrokenTool, ToolSource } from './tools.ts'

/** The longest instructions, in characters. */
export const instructionsMax = 262_144

let compiled: { frame: Check, tool: Check } | undefined
/** Compiled at the first check, since compiling takes a large part of a thread's start. */
const checks = (): { frame: Check, tool: Check } => compiled ??= {
  frame: compileCheck(ManifestFrame, 'skill.toml', { checked: true }),
  tool: compileCheck(ManifestTool, 'tool', { checked: true })
}

/**
 * Reads a `skill.toml` and checks all parts except its tools.
 * @throws SkillFault with file, line and column, or the path within the file
 */
export function readManifest (path: string): { manifest: ManifestFrame, text: string } {
  const text = readText(path, textBytesMax)
  let values: unknown
  try {
    values = parse(text)
  } catch (error) {
    const where = error instanceof TomlError ? `:${error.line}:${error.column}` : ''
    const why = firstLine(messageOf(error).replace(/^Invalid TOML document: /, ''))
    throw new SkillFault(path, `skill.toml${where} is not valid TOML: ${why}`, { cause: error })
  }
  const fault = checks().frame(values)
  if (fault !== undefined) throw new SkillFault(path, fault)
  return { manifest: values as ManifestFrame, text } // the check above guarantees the type
}

/** Checks a tool of a `skill.toml`. A tool without a name is identified by its index. */
export function readTool (value: unknown, index: number): ToolSource | BrokenTool {
  const fault = checks().tool(value)
  if (fault === undefined) return nativeTool(value as ManifestTool) // the check guarantees the type
  const name = isObject(value) && typeof value['name'] === 'string' ? firstLine(value['name']) : undefined
  // The message also has the tool's name, since authors find a tool by its name rather than by its index.
  const place = `skill.toml/tools/${index}${name === undefined ? '' : ` ("${name}")`}`
  return { tool: name ?? `tools/${index}`, error: fault.replace(/^tool(?=[/ ])/, () => place) }
}

function nativeTool ({ command, stdin, cwd, env, parameters = [], ...tool }: ManifestTool): ToolSource {
  return {
    ...tool,
    parameters,
    command: {
      command, ...(stdin !== undefined && { stdin }), ...(cwd !== undefined && { cwd }),
      ...(env !== undefined && { env })
    }
  }
}

/** The contents of `SKILL.md`. */
export interface Instructions { name?: string, description?: string, instructions: string }

/**
 * Reads a `SKILL.md`: YAML between two lines of `---`, then the instructions.
 * @throws SkillFault
 */
export function readInstructions (path: string): Instructions {
  const { yaml, instructions } = splitInstructions(readText(path, textBytesMax))
  if (instructions.length > instructionsMax) {
    throw new SkillFault(path, `SKILL.md has ${instructions.length} characters of instructions; the most is ${instructionsMax}`)
  }
  if (yaml === undefined) return { instructions }
  const values = frontmatterOf(path, yaml)
  const field = (name: string, longest: number): string | undefined => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string' || value.trim() === '') throw new SkillFault(path, `SKILL.md: ${name} must be a text`)
    if (value.trim().length > longest) {
      throw new SkillFault(path, `SKILL.md: ${name} must not have more than ${longest} characters`)
    }
    return value.trim()
  }
  const name = field('name', 64)
  const description = field('description', 1024)
  if (name !== undefined && !SKILL_NAME.test(name)) {
    throw new SkillFault(path, `SKILL.md: name must be 1 to 64 of a-z, 0-9 and -`)
  }
  return { ...(name !== undefined && { name }), ...(description !== undefined && { description }), instructions }
}

function frontmatterOf (path: string, yaml: string): JsonObject {
  try {
    return parseFrontmatter(yaml)
  } catch (error) {
    throw new SkillFault(path, `SKILL.md${messageOf(error)}`, { cause: error })
  }
}

/**
 * A skill's permissions, with default values filled in.
 * @throws Error naming a path that is not absolute, not in the home directory, and not a placeholder of one of its
 * parameters; or a place in the network that can't be read
 */
export function completePermissions (
  permissions: Partial<Permissions> | undefined,
  parameters: ReadonlySet<string>
): Permissions {
  const write = permissions?.write ?? []
  for (const path of write) {
    const [, placeholder] = /^\{\{([^{}]*)\}\}/.exec(path) ?? []
    if (placeholder === undefined && !path.startsWith('/') && path !== '~' && !path.startsWith('~/')) {
      throw new Error(`permissions/write: "${path}" must be absolute, begin with "~" or be a placeholder`)
    }
    if (placeholder !== undefined && !parameters.has(placeholder)) {
      throw new Error(`permissions/write: "${path}" has no parameter of that name in any tool`)
    }
  }
  const network = permissions?.network ?? false
  if (typeof network !== 'boolean') refuseUnreadable(network)
  const secrets = permissions?.secrets ?? []
  const { read, isolation } = permissions ?? {}
  // A variable that is also a secret is passed only as a secret.
  return {
    ...(read !== undefined && { read }),
    ...(isolation !== undefined && { isolation }),
    network,
    write,
    env: (permissions?.env ?? []).filter(name => !secrets.includes(name)),
    secrets
  }
}

function refuseUnreadable (network: readonly string[]): void {
  try {
    void new NetworkList(network)
  } catch (error) {
    throw new Error(`permissions/network: ${messageOf(error)}`, { cause: error })
  }
}
