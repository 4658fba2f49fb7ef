import { parseDocument } from 'yaml'
import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { firstLine } from './files.ts'

/** The parts of a SKILL.md: YAML between two lines of `---`, then the instructions. */
export interface Parts { yaml: string | undefined, instructions: string }

export function splitInstructions (file: string): Parts {
  const text = file.replace(/^\uFEFF/, '')
  const [whole, yaml] = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(text) ?? []
  return {
    yaml: whole === undefined ? undefined : yaml ?? '',
    instructions: (whole === undefined ? text : text.slice(whole.length)).trim()
  }
}

/**
 * Reads frontmatter.
 * @throws Error `:line:column has frontmatter …`, which belongs after the file's name
 */
export function parseFrontmatter (yaml: string): JsonObject {
  const document = parseDocument(yaml, { schema: 'core', uniqueKeys: true, prettyErrors: false })
  const [problem] = document.errors
  if (problem !== undefined) {
    const before = yaml.slice(0, problem.pos[0]).split('\n')
    throw new Error(`:${before.length + 1}:${(before.at(-1)?.length ?? 0) + 1} has frontmatter that is not valid YAML: ${firstLine(problem.message)}`)
  }
  let values: unknown
  try {
    values = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new Error(` has frontmatter that can't be read: ${firstLine(messageOf(error))}`, { cause: error })
  }
  if (values === null || values === undefined) return {}
  if (!isObject(values)) throw new Error(':2:1 has frontmatter that is not a table of keys and values')
  return values
}

/**
 * Reads as much as possible of frontmatter that is not valid YAML, most often because of a colon in an unquoted text:
 * keys at the beginning of a line, and the text after each key.
 */
export function guessFrontmatter (yaml: string): JsonObject {
  const values = new Map<string, string[]>()
  let lines: string[] | undefined
  for (const line of yaml.split(/\r?\n/)) {
    const [, key, text = ''] = /^([A-Za-z][\w-]*):(?:\s+(.*))?$/.exec(line) ?? []
    if (key !== undefined) values.set(key, lines = [text])
    else lines?.push(line)
  }
  return Object.fromEntries([...values].map(([key, lines]) => [
    key,
    unquote(lines.map(line => line.trim()).filter(line => !/^[|>][+-]?$/.test(line)).join(' ').trim())
  ]))
}

function unquote (text: string): string {
  const [, , inner] = /^(["'])(.*)\1$/.exec(text) ?? []
  return inner ?? text
}
