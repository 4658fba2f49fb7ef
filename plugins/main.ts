/** The program's entry, and the only file that names all plugins. @returns the exit status */
async function run (args: readonly string[]): Promise<number> {
  if (args[0] === 'mcp' && !args.includes('--help') && !args.includes('-h')) {
    const { isProtocolProcess, respawn } = await import('./mcp/respawn.ts')
    if (!isProtocolProcess()) return await respawn()
  }
  const { runCommandLine } = await import('./cli/index.ts')
  return await runCommandLine(args, {
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

async function main (): Promise<void> {
  process.exitCode = await run(process.argv.slice(2))
}

void main()
