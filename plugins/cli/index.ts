import { Command, CommanderError } from 'commander'
import { messageOf, readVersion, SkilletError, type Kernel, type Logger } from '../../kernel/index.ts'
import { boot, configure, UsageError, type BuiltinPlugins, type Needs } from './boot.ts'
import { EXIT_CODES, EXIT_INTERRUPTED, EXIT_USAGE } from './exit-codes.ts'
import { createTextLogger } from './log.ts'
import { addSecretCommands } from './commands/secret.ts'
import { addSettingOptions } from './options.ts'
import { processTerminal } from './terminal.ts'

export type { BuiltinPlugins } from './boot.ts'

const quick: Needs = { history: false, executors: false, transports: false }
const recording: Needs = { history: true, executors: true, transports: false }
const speaking: Needs = { history: true, executors: true, agent: true, transports: false }
const serving: Needs = { history: true, executors: true, transports: true }

/**
 * Runs one command of the command line, to its end.
 * @param argv what follows the program's name
 * @returns the exit status
 */
export async function runCommandLine (argv: readonly string[], builtin: BuiltinPlugins): Promise<number> {
  const terminal = processTerminal()
  const interrupt = onSignals(terminal.err)
  let json = false
  const program = new Command('skillet')
    .description('Lists, searches and runs skills: over HTTP, for agents, and here.')
    .version(readVersion().version)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })

  /** Adds what every command has, and what it does with a booted kernel. */
  const command = <Options extends { json?: boolean }>(
    name: string, description: string, needs: Needs,
    act: (kernel: Kernel, options: Options, args: readonly string[]) => Promise<void>,
    logger: (config: ReturnType<typeof configure>) => Logger | Promise<Logger> = () => createTextLogger(line => { terminal.err(`${line}\n`) })
  ): Command => {
    const added = program.command(name).description(description).option('--json', 'print JSON')
    const given = addSettingOptions(added, { serve: needs.transports })
    return added.action(async (): Promise<void> => {
      const options = added.opts<Options>()
      json = options.json ?? false
      const { file, flags } = given()
      const from = file === undefined ? {} : { file }
      const config = configure({ flags, ...from }, terminal)
      const kernel = await boot(builtin, config, needs, terminal, await logger(config), interrupt.signal, { ...from, ...(needs.transports && { role: 'serve' }) })
      try {
        await act(kernel, options, added.args)
      } finally {
        await kernel.stop()
      }
    })
  }

  command<{ json?: boolean }>('serve', 'Start the server', serving, async (kernel, { json = false }) => {
    const { serve } = await import('./commands/serve.ts')
    await serve(kernel, { json }, terminal, interrupt.signal)
  }, async config => (await import('./commands/serve.ts')).createServerLogger(config))

  command('mcp', 'Serve an agent by MCP, on standard input and output', speaking, async kernel => {
    const { serveAgent } = await import('./commands/mcp.ts')
    await serveAgent(kernel, interrupt.signal)
  }, async config => (await import('./commands/mcp.ts')).createAgentLogger(config, terminal))

  command<{ json?: boolean }>('list', 'List the skills and their tools', quick, async (kernel, { json = false }) => {
    const { list } = await import('./commands/list.ts')
    await list(kernel.gateway, { json }, terminal, interrupt.signal)
  })

  command<{ json?: boolean, params?: string, timeout?: string }>('run', 'Run a tool and print its output', recording, async (kernel, { json = false, params, timeout }, [target = '', ...pairs]) => {
    const { run } = await import('./commands/run.ts')
    await run(kernel.gateway, target, pairs, { json, ...(params !== undefined && { params }), ...(timeout !== undefined && { timeout_ms: Number(timeout) }) }, terminal, interrupt.signal)
  })
    .argument('<skill:tool>', 'the tool, such as git:log')
    .argument('[name=value...]', 'its parameters')
    .option('--params <json>', 'its parameters as a JSON object; - reads it from standard input')
    .option('--timeout <ms>', 'time limit in milliseconds')

  if (argv[0] === 'key' || argv.length === 0 || argv[0]?.startsWith('-') || argv[0] === 'help') {
    const { addKeyCommands } = await import('./commands/key.ts')
    addKeyCommands(program, terminal)
  }
  addSecretCommands(program, terminal, interrupt.signal, asked => { json = asked })

  try {
    await program.parseAsync([...argv], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    if (interrupt.signal.aborted && !(error instanceof UsageError)) {
      terminal.err('interrupted\n')
      return EXIT_INTERRUPTED
    }
    if (error instanceof SkilletError) {
      terminal.err(json ? `${JSON.stringify(error.envelope())}\n` : `error: ${error.message}${stderrOf(error)}\n`)
      if (error.kind === 'internal' && error.cause !== undefined) terminal.err(`${messageOf(error.cause)}\n`)
      return EXIT_CODES[error.kind]
    }
    terminal.err(`error: ${messageOf(error)}\n`)
    return error instanceof UsageError ? EXIT_USAGE : EXIT_CODES.internal
  } finally {
    interrupt.stop()
  }
}

/** What a failed command printed, for the person who waits for it. */
function stderrOf ({ details }: SkilletError): string {
  const { stderr } = details
  return typeof stderr === 'string' && stderr.trim() !== '' ? `\n${stderr.trimEnd()}` : ''
}

/** The first SIGINT or SIGTERM asks for an end in order; the second ends at once. */
function onSignals (err: (text: string) => void): { signal: AbortSignal, stop: () => void } {
  const controller = new AbortController()
  const listener = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT_INTERRUPTED)
    if (signal === 'SIGINT' && process.stderr.isTTY) err('\n')
    controller.abort()
  }
  process.on('SIGINT', listener).on('SIGTERM', listener)
  return {
    signal: controller.signal,
    stop: () => { process.off('SIGINT', listener).off('SIGTERM', listener) }
  }
}
