import type { CommandRow } from './command.ts'

/** Every command, in the order of `--help`: a row here and a file in commands/. */
export const commands: readonly CommandRow[] = [
  { name: 'serve', description: 'Start the server', load: () => import('./commands/serve.ts') },
  { name: 'mcp', description: 'Serve an agent by MCP, on standard input and output', load: () => import('./commands/mcp.ts') },
  { name: 'connect', description: 'Set an agent up to use Skillet', load: () => import('./commands/connect.ts') },
  { name: 'list', description: 'List the skills and their tools', load: () => import('./commands/list.ts') },
  { name: 'run', description: 'Run a tool and print its output', load: () => import('./commands/run.ts') },
  { name: 'key', description: 'Make, list and revoke API keys', load: () => import('./commands/key.ts') },
  { name: 'secret', description: 'Keep the secrets that skills need', load: () => import('./commands/secret.ts') }
]
