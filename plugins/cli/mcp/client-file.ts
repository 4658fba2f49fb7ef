import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser'
import { isObject, type JsonObject } from '../../../kernel/index.ts'

/** A server in a client's file, as the client wrote it. */
export interface ClientEntry { name: string, entry: JsonObject }

/** The number of servers of a file that are read. */
const entriesMax = 1_000

/**
 * The servers in a file of Claude Desktop, Claude Code, Cursor or VS Code: JSON, perhaps with comments.
 * @param project the folder whose servers of Claude Code are read, beside those of the user
 * @throws Error when it is no JSON, or names no servers
 */
export function readClientFile (text: string, project: string): ClientEntry[] {
  const errors: ParseError[] = []
  const value: unknown = parse(
    text.replace(/^\ufeff/, ''), errors, { allowTrailingComma: true, allowEmptyContent: true }
  )
  const [first] = errors
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split('\n').length
    throw new Error(`it is not JSON: line ${line}: ${printParseErrorCode(first.error)}`)
  }
  if (value === undefined) return []
  if (!isObject(value)) throw new Error('it is not a JSON object')
  const { mcpServers, servers, mcp, projects } = value
  const own = isObject(projects) && isObject(projects[project]) ? projects[project]['mcpServers'] : undefined
  const tables = [mcpServers, servers, isObject(mcp) ? mcp['servers'] : undefined, own].filter(isObject)
  const entries = tables.flatMap(table => Object.entries(table)).flatMap(([name, entry]): ClientEntry[] =>
    isObject(entry) ? [{ name, entry }] : [])
  if (entries.length > entriesMax) throw new Error(`it names more than ${entriesMax} servers`)
  return entries
}
