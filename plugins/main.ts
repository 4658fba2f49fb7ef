#!/usr/bin/env node
import { isProtocolProcess, respawn } from './mcp/respawn.ts'

/** The program's entry, and the only file that names all plugins. */
const args = process.argv.slice(2)
if (args[0] === 'mcp' && !args.includes('--help') && !args.includes('-h') && !isProtocolProcess()) process.exitCode = await respawn()
else {
  const { runCommandLine } = await import('./cli/index.ts')
  process.exitCode = await runCommandLine(args, {
    storage: () => import('./storage-lmdb/index.ts'),
    scratch: () => import('./storage-memory/index.ts'),
    search: () => import('./search-hnsw/index.ts'),
    executors: [() => import('./executor-worker/index.ts'), () => import('./executor-native/index.ts')],
    skills: [() => import('./skills-directory/index.ts')],
    agent: () => import('./mcp/stdio.ts'),
    endpoints: [() => import('./mcp/index.ts')],
    transports: [() => import('./http/index.ts')]
  })
}
