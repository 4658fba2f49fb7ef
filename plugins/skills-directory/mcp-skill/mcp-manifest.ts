import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { fromHome, type ManifestFrame, type Permissions } from '../../../kernel/index.ts'
import { secretsIn, type ServerSpec } from '../../toolkit/mcp/server-spec.ts'

const default_ms = { start: 30_000, idle: 300_000 }

type McpTable = NonNullable<ManifestFrame['mcp']>

/**
 * The way to a server, from the table `[mcp]` of a `skill.toml`.
 * @param directory the folder of the skill
 * @throws Error in one line that names the field
 */
export function specOf (
  table: McpTable, directory: string, list_file: string, { secrets }: Pick<Permissions, 'secrets'>
): ServerSpec {
  const { command, url, env = {}, headers = {}, cwd, start_ms = default_ms.start, idle_ms = default_ms.idle } = table
  if (command === undefined && url === undefined) throw new Error('[mcp] has neither a command nor a url')
  if (command !== undefined && url !== undefined) throw new Error(
    '[mcp] has a command and a url; a server has one of them'
  )
  if (command === undefined && (cwd !== undefined || table.env !== undefined)) {
    throw new Error('[mcp] has env or cwd, which only a command has')
  }
  if (url === undefined && table.headers !== undefined) throw new Error('[mcp] has headers, which only a url has')
  if (command?.[0] === '') throw new Error('mcp/command: the program has no name')
  if (command?.some(argument => argument.includes('\0')) === true) throw new Error('mcp/command: an argument holds NUL')
  const secret = command?.flatMap(secretsIn).find(name => secrets.includes(name))
  if (secret !== undefined) {
    throw new Error(`mcp/command: other users could read the secret ${secret} there; give it in env`)
  }
  for (const [place, text] of [
    ['url', url ?? ''], ...Object.entries(env).map(([name, value]) => [`env/${name}`, value] as const),
    ...Object.entries(headers).map(([name, value]) => [`headers/${name}`, value] as const)
  ] as const) {
    const unknown = secretsIn(text).find(name => !secrets.includes(name))
    if (unknown !== undefined) throw new Error(`mcp/${place}: the secret ${unknown} is not in permissions.secrets`)
  }
  const way = {
    ...(command !== undefined && { command: located(command, directory) }),
    env, headers, cwd: resolve(directory, fromHome(cwd ?? '')), ...(url !== undefined && { url })
  }
  return {
    ...way, start_ms, idle_ms, list_file,
    way: createHash('sha256').update(JSON.stringify(way)).digest('hex').slice(0, 32)
  }
}

/** The command; a program that is given by a relative path lies in the folder of the skill. */
function located ([program = '', ...args]: string[], directory: string): string[] {
  const path = fromHome(program)
  return [path.includes('/') ? resolve(directory, path) : path, ...args]
}
