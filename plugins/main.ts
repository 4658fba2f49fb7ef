#!/usr/bin/env node
import { runCommandLine } from './cli/index.ts'

/** The program's entry, and the only file that names all plugins. */
process.exitCode = await runCommandLine(process.argv.slice(2), {
  storage: () => import('./storage-lmdb/index.ts'),
  scratch: () => import('./storage-memory/index.ts'),
  search: () => import('./search-hnsw/index.ts'),
  executors: [() => import('./executor-worker/index.ts'), () => import('./executor-native/index.ts')],
  skills: [() => import('./skills-directory/index.ts')],
  transports: [() => import('./http/index.ts')]
})
