/** The program's entry: with settings.ts, the only file that names all plugins. @returns the exit status */
async function run (args: readonly string[]): Promise<number> {
  if (args[0] === 'serve' || args[0] === 'mcp') await closeInspector()
  if (args[0] === 'mcp' && !args.includes('--help') && !args.includes('-h')) {
    const { isProtocolProcess, respawn } = await import('./mcp/transports/respawn.ts')
    if (!isProtocolProcess()) return await respawn()
  }
  const { runCommandLine } = await import('./cli/index.ts')
  return await runCommandLine(args, {
    storage: () => import('./storage-lmdb/index.ts'),
    scratch: () => import('./storage-memory/index.ts'),
    search: () => import('./search-hnsw/index.ts'),
    executors: [
      () => import('./executor-worker/index.ts'), () => import('./executor-native/index.ts'),
      () => import('./executor-http/index.ts'), () => import('./executor-mcp/index.ts'),
      () => import('./executor-container/index.ts'), () => import('./executor-wasm/index.ts'),
      () => import('./skill-engine/executor/index.ts')
    ],
    skills: [() => import('./skills-directory/index.ts'), () => import('./skill-engine/index.ts')],
    agent: () => import('./mcp/transports/stdio.ts'),
    endpoints: [() => import('./mcp/index.ts')],
    transports: [() => import('./http/index.ts')],
    sections: () => import('./settings.ts')
  })
}

/**
 * Ends an inspector that a signal started before the program's first line could refuse it. One that the person who
 * started the program asked for stays.
 */
async function closeInspector (): Promise<void> {
  const requested = [...process.execArgv, process.env['NODE_OPTIONS'] ?? '']
    .some(option => /--inspect(-brk|-wait)?(=|\s|$)/.test(option))
  const inspector = process.getBuiltinModule('node:inspector') // absent where Node was built without
  if (requested || inspector === undefined) return
  // Node starts it by an event too, which would start it once more.
  await new Promise(resolve => { setImmediate(resolve) })
  if (inspector.url() !== undefined) inspector.close()
}

async function main (): Promise<void> {
  process.exitCode = await run(process.argv.slice(2))
}

void main()
