import { Command, CommanderError } from 'commander'
import { messageOf, readVersion, SkilletError } from '../../kernel/index.ts'
import { UsageError, type BuiltinPlugins } from './boot.ts'
import type { CommandContext } from './command.ts'
import { EXIT_CODES, EXIT_INTERRUPTED, EXIT_UNREAD, EXIT_USAGE } from './exit-codes.ts'
import { steady } from './terminal/layout.ts'
import { commands } from './table.ts'
import { processTerminal, type Terminal } from './terminal/terminal.ts'

export type { BuiltinPlugins } from './boot.ts'

/**
 * Runs one command of the command line to its end.
 * @param argv the arguments after the program's name
 * @returns the exit status
 */
export async function runCommandLine (argv: readonly string[], builtin: BuiltinPlugins): Promise<number> {
  const terminal = processTerminal()
  const interrupt = onSignals(terminal.err)
  let status = 0
  try {
    const program = await createProgram(argv, { terminal, signal: interrupt.signal, builtin, setStatus: given => { status = given } })
    await program.parseAsync([...argv], { from: 'user' })
    return status
  } catch (error) {
    return report(error, { argv, terminal, interrupted: interrupt.signal.aborted })
  } finally {
    interrupt.stop()
  }
}

/**
 * The program with all commands. Only the file of the called command is loaded; the other commands have only a name and
 * a description.
 */
async function createProgram (argv: readonly string[], context: CommandContext): Promise<Command> {
  const { terminal } = context
  const program = new Command('skillet')
    .description('Lists, searches and runs skills: over HTTP, for agents, and here.')
    .version(readVersion().version)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err, outputError: () => {} })
  const [called, second] = argv.filter(word => !word.startsWith('-'))
  const asked = called === 'help' ? second : called
  for (const { name, aliases = [], description, hidden = false, load } of commands) {
    const command = program.command(name, { hidden }).aliases(aliases).description(description)
    if (asked !== undefined && [name, ...aliases].includes(asked)) (await load()).default(command, context)
  }
  return program
}

/**
 * Prints an error, as JSON when `--json` was given.
 * @returns the exit status
 */
function report (error: unknown, { argv, terminal, interrupted }: { argv: readonly string[], terminal: Terminal, interrupted: boolean }): number {
  const usage = error instanceof UsageError || error instanceof CommanderError
  if (error instanceof CommanderError) {
    if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode === 0 ? 0 : EXIT_USAGE
  } else if (interrupted && !usage) {
    terminal.err('interrupted\n')
    return EXIT_INTERRUPTED
  } else if (terminal.unread.aborted && error instanceof SkilletError && error.code === 'CANCELLED') {
    return EXIT_UNREAD
  }
  const known = error instanceof SkilletError ? error
    : new SkilletError(usage ? 'INVALID_PARAMETERS' : 'INTERNAL', messageOf(error).replace(/^error: /, ''))
  const said = (text: string): string => terminal.watched ? steady(text) : text
  if (argv.includes('--json')) terminal.err(`${JSON.stringify(known.envelope())}\n`)
  else terminal.err(`error: ${said(`${known.message}${stderrOf(known)}`)}\n`)
  if (known.kind === 'internal' && known.cause !== undefined) terminal.err(`${said(messageOf(known.cause))}\n`)
  return EXIT_CODES[known.kind]
}

/** The standard error of a failed command, for the user. */
function stderrOf ({ details }: SkilletError): string {
  const { stderr } = details
  return typeof stderr === 'string' && stderr.trim() !== '' ? `\n${stderr.trimEnd()}` : ''
}

/**
 * Signals within this time count as one: npm passes on a Ctrl-C that the terminal sends to all processes, and signals
 * again when it ends itself.
 */
const together_ms = 1_000

/** The first SIGINT or SIGTERM starts an orderly shutdown; a later one ends the process at once. */
function onSignals (err: (text: string) => void): { signal: AbortSignal, stop: () => void } {
  const controller = new AbortController()
  let first_ms = 0
  const listener = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      if (performance.now() - first_ms > together_ms) process.exit(EXIT_INTERRUPTED)
      return
    }
    first_ms = performance.now()
    if (signal === 'SIGINT' && process.stderr.isTTY) err('\n')
    controller.abort()
  }
  process.on('SIGINT', listener).on('SIGTERM', listener)
  return {
    signal: controller.signal,
    stop: () => { process.off('SIGINT', listener).off('SIGTERM', listener) }
  }
}
