import type { Command } from 'commander'
import type { BuiltinPlugins } from './boot.ts'
import type { Terminal } from './terminal/terminal.ts'

/** What every command is given. */
export interface CommandContext {
  terminal: Terminal
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal
  builtin: BuiltinPlugins
  /** Ends with this status although nothing was thrown. */
  setStatus (status: number): void
}

/**
 * Declares a command's arguments, options and action; its name and description are the table's. The default export of
 * its file.
 */
export type DefineCommand = (command: Command, context: CommandContext) => void

/** A row of the table of commands. */
export interface CommandRow {
  readonly name: string
  readonly aliases?: readonly string[]
  /** What `--help` says of it, in a line. */
  readonly description: string
  /** Left out of `--help`. */
  readonly hidden?: boolean
  /** Its file, which is loaded when it is called, and for its own help. */
  load (): Promise<{ default: DefineCommand }>
}
