import { parse, TomlError } from 'smol-toml'
import { compileCheck, ManifestFile, messageOf, SKILL_NAME, type Check, type JsonObject, type Permissions } from '../../kernel/index.ts'
import { firstLine, readText, SkillFault, textBytesMax } from './files.ts'
import { parseFrontmatter, splitInstructions } from './frontmatter.ts'

/** The longest instructions, in characters. */
export const instructionsMax = 262_144

let compiled: Check | undefined
/** Compiled when there is something to check: that takes a good part of a thread's start. */
const check: Check = value => (compiled ??= compileCheck(ManifestFile, 'skill.toml', { checked: true }))(value)

/** Reads and checks a `skill.toml`. @throws SkillFault with file, line and column, or the path within the file */
export function readManifest (path: string): { manifest: ManifestFile, text: string } {
  const text = readText(path, textBytesMax)
  let values: unknown
  try {
    values = parse(text)
  } catch (error) {
    const where = error instanceof TomlError ? `:${error.line}:${error.column}` : ''
    throw new SkillFault(path, `skill.toml${where} is not valid TOML: ${firstLine(messageOf(error).replace(/^Invalid TOML document: /, ''))}`, { cause: error })
  }
  const wrong = check(values)
  if (wrong !== undefined) throw new SkillFault(path, namingTool(wrong, values))
  return { manifest: values as ManifestFile, text } // the check above is what makes it one
}

/** Tools are found by name, not by number: `skill.toml/tools/7/…` → `skill.toml/tools/7 ("log")/…`. */
function namingTool (message: string, values: unknown): string {
  return message.replace(/^skill\.toml\/tools\/(\d+)/, (path, index) => {
    const tools: unknown = typeof values === 'object' && values !== null && 'tools' in values ? values.tools : undefined
    const tool: unknown = Array.isArray(tools) ? tools[Number(index)] : undefined
    const name = typeof tool === 'object' && tool !== null && 'name' in tool ? tool.name : undefined
    return typeof name === 'string' ? `${path} ("${firstLine(name)}")` : path
  })
}

/** What `SKILL.md` gives. */
export interface Instructions { name?: string, description?: string, instructions: string }

/** Reads a `SKILL.md`: YAML between two lines of `---`, then the instructions. @throws SkillFault */
export function readInstructions (path: string): Instructions {
  const { yaml, instructions } = splitInstructions(readText(path, textBytesMax))
  if (instructions.length > instructionsMax) throw new SkillFault(path, `SKILL.md has ${instructions.length} characters of instructions; the most is ${instructionsMax}`)
  if (yaml === undefined) return { instructions }
  const values = frontmatterOf(path, yaml)
  const field = (name: string, longest: number): string | undefined => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string' || value.trim() === '') throw new SkillFault(path, `SKILL.md: ${name} must be a text`)
    if (value.trim().length > longest) throw new SkillFault(path, `SKILL.md: ${name} must not have more than ${longest} characters`)
    return value.trim()
  }
  const name = field('name', 64)
  const description = field('description', 1024)
  if (name !== undefined && !SKILL_NAME.test(name)) throw new SkillFault(path, `SKILL.md: name must be 1 to 64 of a-z, 0-9 and -`)
  return { ...(name !== undefined && { name }), ...(description !== undefined && { description }), instructions }
}

function frontmatterOf (path: string, yaml: string): JsonObject {
  try {
    return parseFrontmatter(yaml)
  } catch (error) {
    throw new SkillFault(path, `SKILL.md${messageOf(error)}`, { cause: error })
  }
}

/** A skill's permissions in full. @throws Error naming a path that is neither absolute, nor of the home directory, nor a placeholder of one of its parameters */
export function completePermissions (given: Partial<Permissions> | undefined, parameters: ReadonlySet<string>): Permissions {
  const write = given?.write ?? []
  for (const path of write) {
    const [, placeholder] = /^\{\{([^{}]*)\}\}/.exec(path) ?? []
    if (placeholder === undefined && !path.startsWith('/') && path !== '~' && !path.startsWith('~/')) {
      throw new Error(`permissions/write: "${path}" must be absolute, begin with "~" or be a placeholder`)
    }
    if (placeholder !== undefined && !parameters.has(placeholder)) throw new Error(`permissions/write: "${path}" has no parameter of that name in any tool`)
  }
  const secrets = given?.secrets ?? []
  // A variable that is a secret, too, is given as a secret alone.
  return { network: given?.network ?? false, write, env: (given?.env ?? []).filter(name => !secrets.includes(name)), secrets }
}
