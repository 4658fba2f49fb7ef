import { Command, CommanderError } from 'commander'
import { configSchema, messageOf, readVersion, SkilletError } from '../../kernel/index.ts'
import { UsageError, type BuiltinPlugins } from './boot.ts'
import type { CommandContext, CommandRow } from './command.ts'
import { EXIT_CODES, EXIT_INTERRUPTED, EXIT_UNREAD, EXIT_USAGE } from './exit-codes.ts'
import { commandSchema, type CommandSchema } from './options/config-schema.ts'
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
  let fault: unknown
  try {
    const row = calledIn(argv)
    const schema: CommandSchema = row?.configured === true
      ? await commandSchema(argv, (await builtin.sections()).builtinSections, terminal)
      : configSchema([])
    fault = schema.fault
    const context = {
      terminal, signal: interrupt.signal, builtin, schema, setStatus: (code: number) => { status = code }
    }
    const program = await createProgram(row, context)
    await program.parseAsync([...argv], { from: 'user' })
    return status
  } catch (error) {
    return report(error, { argv, terminal, interrupted: interrupt.signal.aborted, fault })
  } finally {
    interrupt.stop()
  }
}

/** The command that is called, or whose help is shown. */
function calledIn (argv: readonly string[]): CommandRow | undefined {
  const [called, second] = argv.filter(word => !word.startsWith('-'))
  const calledName = called === 'help' ? second : called
  return calledName === undefined
    ? undefined
    : commands.find(({ name, aliases = [] }) => [name, ...aliases].includes(calledName))
}

/**
 * The program with all commands. Only the file of the called command is loaded; the other commands have only a name and
 * a description.
 */
async function createProgram (called: CommandRow | undefined, context: CommandContext): Promise<Command> {
  const { terminal } = context
  const program = new Command('skillet')
    .description('Lists, searches and runs skills: over HTTP, for agents, and here.')
    .version(readVersion().version)
    // A command below a command may have the flags of that one, and its own `--version`.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err, outputError: () => {} })
  for (const row of commands) {
    const { name, aliases = [], description, hidden = false, load } = row
    const command = program.command(name, { hidden }).aliases(aliases).description(description)
    if (row === called) (await load()).default(command, context)
  }
  return program
}

interface Ending {
  argv: readonly string[]
  terminal: Terminal
  interrupted: boolean
  /** Why plugins could not be loaded. An unknown flag can be a flag of such a plugin. */
  fault: unknown
}

/**
 * Prints an error, as JSON when `--json` was given.
 * @returns the exit status
 */
function report (error: unknown, { argv, terminal, interrupted, fault }: Ending): number {
  const usage = error instanceof UsageError || error instanceof CommanderError
  if (error instanceof CommanderError) {
    if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode === 0 ? 0 : EXIT_USAGE
  } else if (interrupted && !usage) {
    terminal.err('interrupted\n')
    return EXIT_INTERRUPTED
  } else if (terminal.unread.aborted && error instanceof SkilletError && error.code === 'CANCELLED') {
    return EXIT_UNREAD
  }
  const failure = error instanceof SkilletError ? error
    : new SkilletError(
      usage ? 'INVALID_PARAMETERS' : 'INTERNAL',
      // A file that can't be read is the fault of the plugins and of the settings alike.
      [...new Set([error, ...(usage && fault !== undefined ? [fault] : [])].map(messageOf))].join('\n')
        .replace(/^error: /, '')
    )
  const shown = (text: string): string => terminal.watched ? steady(text) : text
  if (argv.includes('--json')) terminal.err(`${JSON.stringify(failure.envelope())}\n`)
  else terminal.err(`error: ${shown(`${failure.message}${stderrOf(failure)}`)}\n`)
  if (failure.kind === 'internal' && failure.cause !== undefined) terminal.err(`${shown(messageOf(failure.cause))}\n`)
  return EXIT_CODES[failure.kind]
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
