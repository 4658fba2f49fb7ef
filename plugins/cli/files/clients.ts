import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Terminal } from '../terminal/terminal.ts'

/** A program with agents, and the file with the servers that they may use. */
export interface Client {
  readonly title: string
  /** The key in its file that contains the servers. */
  readonly key: 'mcpServers' | 'servers'
  /** Whether an entry must name its transport. */
  readonly typed: boolean
  /** Its file for all projects of a user; undefined where it only has one for each project. */
  user? (places: Places): string
  /** Its file for one project, relative to the project's folder. */
  readonly project?: string
}

interface Places { home: string, config: string }

export const clients = {
  'claude-desktop': {
    title: 'Claude Desktop',
    key: 'mcpServers',
    typed: false,
    user: ({ config }) => join(config, 'Claude', 'claude_desktop_config.json')
  },
  'claude-code': { title: 'Claude Code', key: 'mcpServers', typed: true, project: '.mcp.json' },
  cursor: {
    title: 'Cursor',
    key: 'mcpServers',
    typed: false,
    user: ({ home }) => join(home, '.cursor', 'mcp.json'),
    project: join('.cursor', 'mcp.json')
  },
  vscode: {
    title: 'VS Code',
    key: 'servers',
    typed: true,
    user: ({ config }) => join(config, 'Code', 'User', 'mcp.json'),
    project: join('.vscode', 'mcp.json')
  }
} as const satisfies Record<string, Client>

/** The file of a client: for one project where `project` is set or the client has no other file. */
export function fileOf (client: Client, project: boolean, { env, cwd }: Pick<Terminal, 'env' | 'cwd'>): string {
  const home = env['HOME'] ?? homedir()
  const config = process.platform === 'darwin' ? join(home, 'Library', 'Application Support')
    : process.platform === 'win32' ? env['APPDATA'] ?? join(home, 'AppData', 'Roaming')
      : env['XDG_CONFIG_HOME'] || join(home, '.config')
  const own = project ? undefined : client.user?.({ home, config })
  if (own !== undefined) return own
  if (client.project === undefined) throw new Error(`${client.title} has no file for a project`)
  return join(cwd, client.project)
}
