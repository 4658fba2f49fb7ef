import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { configHome, isAbsent, messageOf, SecretFile } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { clients, fileOf, type Client } from '../files/clients.ts'
import { readClientFile } from './client-file.ts'
import { serverOfEntry, type Passed } from './entry.ts'
import { inWords, writeServer, type NewServer } from './new-server.ts'
import { agrees } from '../terminal/agrees.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Options { json?: boolean, yes?: boolean, directory?: string }

/** The size limit of a client's file, in bytes: Claude Code keeps much else in it. */
const fileBytesMax = 64 * 1_048_576

/** `skillet import mcp [FILE]`: makes skills of the MCP servers in a client's file. */
export function defineImportMcp (command: Command, context: CommandContext): void {
  command.description('make skills of the MCP servers that a client is set up with: Claude Desktop, Claude Code, Cursor, VS Code')
    .argument('[file]', 'the client\'s file; by default all that are in their usual places')
    .option('--directory <dir>', 'the directory to put the skills in (default: your own, where every command finds them)')
    .option('--yes', 'add them without a question')
    .option('--json', 'print JSON')
    .action(async (file: string | undefined, options: Options) => { await importServers(file, options, context) })
}

async function importServers (
  file: string | undefined, { json = false, yes = false, directory }: Options, context: CommandContext
): Promise<void> {
  const { terminal } = context
  const own = configHome(terminal.env)
  const folder = directory === undefined ? join(own, 'skills') : resolve(terminal.cwd, directory)
  const files = file === undefined ? usualFiles(terminal) : [resolve(terminal.cwd, file)]
  const { servers, passed, read } = await found(files, file !== undefined, folder, terminal)
  const show = json ? (): void => {} : (text: string): void => { terminal.out(text) }
  for (const { name, why } of passed) show(`${name} is left out: ${why}\n`)
  if (servers.length === 0) {
    if (json) return terminal.out(`${JSON.stringify({ files: read, added: [], left_out: passed })}\n`)
    return show(
      read.length === 0
        ? `no client's file was found; looked for ${files.join(', ')}\n`
        : `nothing to add from ${read.join(', ')}\n`
    )
  }
  for (const server of servers) show(inWords(server))
  const question = `Add ${servers.length === 1 ? 'it' : `these ${servers.length}`} to ${folder}? [y/N] `
  if (!await agrees(question, { yes }, context)) return
  const secrets = new SecretFile(own, terminal.env)
  const added = []
  for (const server of servers) {
    added.push(
      { name: server.name, folder: await writeServer(server, folder, secrets), secrets: Object.keys(server.secrets) }
    )
  }
  if (json) return terminal.out(`${JSON.stringify({ files: read, added, left_out: passed })}\n`)
  show(`added ${added.map(({ name }) => name).join(', ')}; a running server asks them for their tools, others do when they start: skillet serve\n`)
}

interface Found { servers: NewServer[], passed: Passed[], read: string[] }

/** The servers of files. Of two with the same name, the first one counts. @param named whether a file must be there */
async function found (files: readonly string[], named: boolean, folder: string, { cwd }: Terminal): Promise<Found> {
  const result: Found = { servers: [], passed: [], read: [] }
  const names = new Set<string>()
  for (const file of files) {
    let entries
    try {
      const { size } = await stat(file)
      if (size > fileBytesMax) throw new Error(`it is larger than ${fileBytesMax} bytes`)
      entries = readClientFile(await readFile(file, 'utf8'), cwd)
    } catch (error) {
      if (!named && isAbsent(error)) continue
      throw new UsageError(`${file} can't be used: ${messageOf(error)}`, { cause: error })
    }
    result.read.push(file)
    for (const entry of entries) {
      const server = serverOfEntry(entry, cwd)
      if ('why' in server) result.passed.push(server)
      else if (names.has(server.name)) result.passed.push(
        { name: entry.name, why: `there is another "${server.name}" among them` }
      )
      else if (await stat(join(folder, server.name)).catch(() => undefined) !== undefined) {
        result.passed.push({ name: entry.name, why: `there is a skill "${server.name}" already` })
      } else {
        names.add(server.name)
        result.servers.push(server)
      }
    }
  }
  return result
}

/** The files of clients where they usually are: those of this folder's project, then those of the user. */
function usualFiles (terminal: Terminal): string[] {
  const all: readonly Client[] = Object.values(clients)
  const project = all.flatMap(client => client.project === undefined ? [] : [fileOf(client, true, terminal)])
  const user = all.flatMap(client => client.user === undefined ? [] : [fileOf(client, false, terminal)])
  return [...project, ...user, join(terminal.env['HOME'] ?? homedir(), '.claude.json')]
}
