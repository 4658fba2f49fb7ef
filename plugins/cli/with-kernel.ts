import type { Command } from 'commander'
import type { Config, Kernel, Logger } from '../../kernel/index.ts'
import { boot, configure, type Needs } from './boot.ts'
import type { CommandContext } from './command.ts'
import { loggerTo } from './terminal/log.ts'
import { addSettingOptions } from './options/options.ts'

/** The action of a command that uses a kernel. */
export interface KernelCommand<Options> {
  needs: Needs
  /** The name of the skill that the command is about, when the other skills need not be loaded. */
  only? (args: readonly string[]): string
  act (kernel: Kernel, options: Options, args: readonly string[]): Promise<void>
  /** The logger; by default, warnings and errors are lines on standard error. */
  logger? (config: Config): Logger
}

/** Adds `--json`, the flags of the settings, and an action that boots a kernel and stops it at the end. */
export function actWithKernel<Options extends {
  json?: boolean
}> (command: Command, context: CommandContext, { needs, only, act, logger }: KernelCommand<Options>): void {
  const { terminal, signal, builtin, schema } = context
  command.option('--json', 'print JSON')
  const readFlags = addSettingOptions(command, schema, { serve: needs.transports })
  command.action(async (): Promise<void> => {
    const { file, flags } = readFlags()
    const from = file === undefined ? {} : { file }
    const config = configure({ flags, ...from }, context)
    const log = logger?.(config) ?? loggerTo(terminal)
    const kernel = await boot(builtin, config, needs, terminal, log, signal, {
      ...from,
      ...(needs.transports && { role: 'serve' }),
      ...(only !== undefined && { only: only(command.args) })
    })
    try {
      await act(kernel, command.opts<Options>(), command.args)
    } finally {
      await kernel.stop()
    }
  })
}
