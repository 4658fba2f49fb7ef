import type { CommandRow } from './command.ts'

/** All commands, in the order of `--help`: each has a row here and a file in commands/. */
export const commands: readonly CommandRow[] = [
  { name: 'serve', description: 'Start the server', configured: true, load: () => import('./commands/serve.ts') },
  {
    name: 'mcp',
    description: 'Serve an agent by MCP, on standard input and output',
    configured: true,
    load: () => import('./commands/mcp.ts')
  },
  { name: 'connect', description: 'Set an agent up to use Skillet', load: () => import('./commands/connect.ts') },
  {
    name: 'list',
    description: 'List the skills and their tools',
    configured: true,
    load: () => import('./commands/list.ts')
  },
  {
    name: 'info',
    description: 'Say all that is known of a skill or a tool',
    configured: true,
    load: () => import('./commands/info.ts')
  },
  {
    name: 'search',
    aliases: ['find'],
    description: 'Find tools by words',
    configured: true,
    load: () => import('./commands/search.ts')
  },
  {
    name: 'run',
    description: 'Run a tool and print its output',
    configured: true,
    load: () => import('./commands/run.ts')
  },
  {
    name: 'retry',
    description: 'Run the tool of an execution again, with its parameters or changed ones',
    configured: true,
    load: () => import('./commands/retry.ts')
  },
  {
    name: 'wait',
    description: 'Wait for the end of an execution, and print its output',
    configured: true,
    load: () => import('./commands/wait.ts')
  },
  { name: 'history', description: 'Show what was run', configured: true, load: () => import('./commands/history.ts') },
  {
    name: 'stats',
    description: 'Count what was run, how it ended and how long it took',
    configured: true,
    load: () => import('./commands/stats.ts')
  },
  {
    name: 'show',
    description: 'Show the record of an execution',
    configured: true,
    load: () => import('./commands/show.ts')
  },
  {
    name: 'output',
    description: 'Print the whole output of an execution, or a part of it',
    configured: true,
    load: () => import('./commands/output.ts')
  },
  {
    name: 'logs',
    description: 'Show what a run writes and logs, while it lasts',
    configured: true,
    load: () => import('./commands/logs.ts')
  },
  {
    name: 'cancel',
    description: 'End a run, whichever process runs it',
    configured: true,
    load: () => import('./commands/cancel.ts')
  },
  {
    name: 'approvals',
    description: 'List what waits until a person approves it',
    configured: true,
    load: () => import('./commands/approvals.ts')
  },
  {
    name: 'approve',
    description: 'Let a run begin that waits for an approval',
    configured: true,
    load: () => import('./commands/approve.ts')
  },
  {
    name: 'deny',
    description: 'End a run that waits for an approval',
    configured: true,
    load: () => import('./commands/deny.ts')
  },
  {
    name: 'doctor',
    description: 'Look for what is wrong, and say what to do',
    configured: true,
    load: () => import('./commands/doctor.ts')
  },
  {
    name: 'backup',
    description: 'Copy the history to a file',
    configured: true,
    load: () => import('./commands/backup.ts')
  },
  {
    name: 'restore',
    description: 'Put a copy in the place of the history',
    configured: true,
    load: () => import('./commands/restore.ts')
  },
  {
    name: 'config',
    description: 'Show the settings and where they come from, check them, or write a file to begin with',
    configured: true,
    load: () => import('./commands/config.ts')
  },
  {
    name: 'init',
    description: 'Write a skill of your own to begin with, and its test',
    load: () => import('./commands/init.ts')
  },
  {
    name: 'add',
    description: 'Install a skill from a folder, a tarball, a git repository or npm; or make one of an MCP server',
    configured: true,
    load: () => import('./commands/add.ts')
  },
  {
    name: 'import',
    description: 'Make a skill of something that exists: a web API, MCP servers',
    configured: true,
    load: () => import('./commands/import.ts')
  },
  {
    name: 'update',
    description: 'Fetch installed skills again from where they came',
    configured: true,
    load: () => import('./commands/update.ts')
  },
  { name: 'remove', description: 'Remove a skill of your own', load: () => import('./commands/remove.ts') },
  { name: 'key', description: 'Make, list and revoke API keys', load: () => import('./commands/key.ts') },
  { name: 'login', description: 'Log in at the MCP server of a skill', configured: true,
    load: () => import('./commands/login.ts') },
  { name: 'secret', description: 'Keep the secrets that skills need', load: () => import('./commands/secret.ts') },
  {
    name: 'trust',
    description: 'Trust a skill as it is now, and list the skills that are trusted so',
    configured: true,
    load: () => import('./commands/trust.ts')
  },
  { name: 'untrust', description: 'End the trust in a skill', load: () => import('./commands/untrust.ts') },
  {
    name: 'completions',
    description: 'Print what makes a shell complete commands, skills, tools and parameters',
    load: () => import('./commands/completions.ts')
  },
  {
    name: '__complete',
    description: 'Complete the last word',
    hidden: true,
    configured: true,
    load: () => import('./commands/complete.ts')
  }
]
