import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { hasCode, SecretFile, SKILL_NAME, type McpServer } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'

/** An MCP server that is to become a skill. */
export interface NewServer {
  /** The name of the skill, and of its folder. */
  name: string
  description: string
  mcp: Pick<McpServer, 'command' | 'env' | 'cwd' | 'url' | 'headers'>
  /** The names of its secrets; the values of some are known. */
  secrets: Readonly<Record<string, string | undefined>>
  /** Paths that it may write to in the sandbox. */
  write?: readonly string[]
  /** What is worth knowing of it, in sentences. */
  notes: readonly string[]
}

/** What programs that were written for a user's desktop expect. */
const usualVariables = ['HOME', 'USER']

/** The text of its `skill.toml`. */
export function manifestOf ({ description, mcp, secrets, write = [] }: NewServer): string {
  const names = Object.keys(secrets)
  return `${stringify({
    runtime: 'mcp', description,
    mcp: { ...mcp },
    permissions: {
      network: true,
      ...(write.length > 0 && { write: [...write] }),
      ...(mcp.command !== undefined && { env: usualVariables }), ...(names.length > 0 && { secrets: names })
    }
  })}\n`
}

/** What a server is and may do, in plain words. */
export function inWords ({ name, mcp, secrets, write = [], notes }: NewServer): string {
  const way = mcp.command === undefined
    ? `speaks to ${mcp.url ?? ''}`
    : `runs the command ${mcp.command.map(quoted).join(' ')}, as you, and may reach the network`
  const variables = Object.keys(mcp.env ?? {})
  const known = Object.entries(secrets).filter(([, value]) => value !== undefined).map(([secret]) => secret)
  const unknown = Object.keys(secrets).filter(secret => !known.includes(secret))
  const lines = [
    `${name}: ${way}`,
    ...(mcp.command === undefined ? [] : [
      `until you trust it (skillet trust ${name}), it runs in the sandbox where isolation.mode says so, and writes only to ${['folders of its own', ...write].join(', ')}`
    ]),
    ...(variables.length > 0 ? [`with the variables ${variables.join(', ')}`] : []),
    ...(known.length > 0 ? [`its secrets ${known.join(', ')} go into the secrets file`] : []),
    ...unknown.map(secret => `needs a secret: skillet secret set ${name} ${secret}`),
    ...notes
  ]
  return `${lines.join('\n  ')}\n`
}

/**
 * Writes the folder of a skill, and its secrets.
 * @returns the path of the folder
 * @throws UsageError when the folder is there
 */
export async function writeServer (server: NewServer, directory: string, secretFile: SecretFile): Promise<string> {
  const folder = join(directory, server.name)
  await mkdir(directory, { recursive: true })
  try {
    await mkdir(folder)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    throw new UsageError(`${folder} is there already; choose another name, or remove it first`, { cause: error })
  }
  try {
    for (const [name, value] of Object.entries(server.secrets)) {
      if (value !== undefined) await secretFile.set(server.name, name, value)
    }
    await writeFile(join(folder, 'skill.toml'), manifestOf(server), { flag: 'wx' })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  return folder
}

/** The name of a skill for a server: `GitHub (work)` becomes `github-work`. Undefined when nothing is left of it. */
export function skillNameOf (name: string): string | undefined {
  const skill = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '').slice(0, 64)
  return SKILL_NAME.test(skill) ? skill : undefined
}

function quoted (word: string): string {
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`
}
