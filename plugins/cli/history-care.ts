import type { Command } from 'commander'
import { loadPlugins, type CareContext, type Config, type HistoryCare } from '../../kernel/index.ts'
import { configure, dataDirectory, UsageError } from './boot.ts'
import type { CommandContext } from './command.ts'
import { addSettingOptions } from './options/options.ts'
import { loggerTo } from './terminal/log.ts'

/** The storage's part for the history as a whole, and what it needs. */
export interface Care { care: HistoryCare, context: CareContext }

/**
 * Finds the part for the history of the storage that the configuration names, without setting the storage up.
 * @throws UsageError when that storage has no such part
 */
export async function careOf (config: Config, { builtin, terminal, signal }: CommandContext): Promise<Care> {
  const further = await loadPlugins(config.plugins, terminal.cwd)
  const storage = further.find(({ slot }) => slot === 'storage') ?? (await builtin.storage()).default
  if (storage.care === undefined) {
    throw new UsageError(`the storage plugin "${storage.name}" can't copy or repair its history`)
  }
  return { care: storage.care, context: { data_dir: dataDirectory(config, terminal), log: loggerTo(terminal), signal } }
}

/**
 * Adds `--json`, the flags of the settings, and an action that works on the history as a whole.
 * @param act works, and returns what to print: a result as JSON, or its text for a person
 */
export function actOnHistory<Result> (
  command: Command, context: CommandContext,
  act: (care: Care, args: readonly string[]) => Promise<Result>, text: (result: Result) => string
): void {
  command.option('--json', 'print JSON')
  const readFlags = addSettingOptions(command, context.schema, { serve: false })
  command.action(async () => {
    const result = await act(await careOf(configure(readFlags(), context), context), command.args)
    const { json = false } = command.opts<{ json?: boolean }>()
    context.terminal.out(json ? `${JSON.stringify(result)}\n` : text(result))
  })
}

/** A number of executions in words. */
export function executionsIn (count: number): string {
  return count === 1 ? '1 execution' : `${count} executions`
}
