import type { Command } from 'commander'
import type { BuiltinPlugins } from './boot.ts'
import type { CommandSchema } from './options/config-schema.ts'
import type { Terminal } from './terminal/terminal.ts'

/** The context that every command gets. */
export interface CommandContext {
  terminal: Terminal
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal
  builtin: BuiltinPlugins
  /** The settings that the command line, variables and the file can set. */
  schema: CommandSchema
  /** Sets the exit status of a command that does not throw. */
  setStatus (status: number): void
}

/**
 * Declares the arguments, options and action of a command; its name and description are in the table. It is the default
 * export of the command's file.
 */
export type DefineCommand = (command: Command, context: CommandContext) => void

/** A row of the table of commands. */
export interface CommandRow {
  readonly name: string
  readonly aliases?: readonly string[]
  /** The description in `--help`, in one line. */
  readonly description: string
  /** Whether the command is left out of `--help`. */
  readonly hidden?: boolean
  /** Whether the command reads the configuration, and has the flags of the settings. */
  readonly configured?: boolean
  /** Loads its file, when the command is called or its own help is shown. */
  load (): Promise<{ default: DefineCommand }>
}
