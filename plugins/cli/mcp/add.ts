import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { configHome, SecretFile, SKILL_NAME } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { writeServer, inWords, type NewServer } from './new-server.ts'

interface Options {
  env?: string[]
  header?: string[]
  secret?: string[]
  write?: string[]
  cwd?: string
  description?: string
  directory?: string
  json?: boolean
}

const collect = (value: string, before: string[] = []): string[] => [...before, value]

/** `skillet add mcp NAME -- COMMAND...`, `skillet add mcp NAME URL`: makes a skill of an MCP server. */
export function defineAddMcp (command: Command, context: CommandContext): void {
  command.description('make a skill of an MCP server')
    .argument('<name>', 'the name of the skill: a-z, 0-9 and -')
    .argument('<command...>', 'the command that starts the server, after --; or the URL of a server elsewhere')
    .option('--env <name=value>', 'a variable for the command; {{NAME}} in it is the secret of that name', collect)
    .option('--header <name:value>', 'a header for the URL; {{NAME}} in it is the secret of that name', collect)
    .option('--secret <name>', 'a secret that the server is given, set by `skillet secret set`', collect)
    .option('--write <dir>', 'a folder that the command may write to in the sandbox', collect)
    .option('--cwd <dir>', 'the working directory of the command')
    .option('--description <text>', 'what the skill is for')
    .option('--directory <dir>', 'the directory to put it in (default: your own, where every command finds it)')
    .option('--json', 'print JSON')
    .action(
      async (name: string, words: string[], options: Options) => { await addServer(name, words, options, context) }
    )
}

async function addServer (
  name: string, words: readonly string[], options: Options, { terminal }: CommandContext
): Promise<void> {
  if (!SKILL_NAME.test(name)) throw new UsageError(
    `"${name}" can't be the name of a skill: it must be 1 to 64 of a-z, 0-9 and -`
  )
  const own = configHome(terminal.env)
  const { directory } = options
  const server = serverOf(name, words, options, terminal.cwd)
  const folder = await writeServer(
    server, directory === undefined ? join(own, 'skills') : resolve(terminal.cwd, directory),
    new SecretFile(own, terminal.env)
  )
  if (options.json === true) return terminal.out(
    `${JSON.stringify({ name, folder, secrets: Object.keys(server.secrets) })}\n`
  )
  terminal.out(`${inWords(server)}added as ${folder}; its tools are known when a server has asked it: skillet serve\n`)
}

function serverOf (name: string, words: readonly string[], options: Options, folder: string): NewServer {
  const { env = [], header = [], secret = [], write = [], cwd, description } = options
  const [first = ''] = words
  const isUrl = words.length === 1 && /^https?:\/\//.test(first)
  if (isUrl ? env.length > 0 || write.length > 0 || cwd !== undefined : header.length > 0) {
    throw new UsageError(
      isUrl ? '--env, --write and --cwd are for a command, not for a URL' : '--header is for a URL, not for a command'
    )
  }
  const variables = Object.fromEntries(env.map(text => pair(text, '=', '--env')))
  const headers = Object.fromEntries(header.map(text => pair(text, ':', '--header')))
  return {
    name,
    description: description ?? `Tools of the MCP server ${name}`,
    mcp: isUrl
      ? { url: first, ...(header.length > 0 && { headers }) }
      : {
          command: [...words], ...(cwd !== undefined && { cwd: resolve(folder, cwd) }),
          ...(env.length > 0 && { env: variables })
        },
    secrets: Object.fromEntries(secret.map(name => [name, undefined])),
    write: write.map(path => resolve(folder, path)),
    notes: []
  }
}

function pair (text: string, sign: string, flag: string): [string, string] {
  const at = text.indexOf(sign)
  if (at < 1) throw new UsageError(`${flag} must have the form name${sign}value`)
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}
