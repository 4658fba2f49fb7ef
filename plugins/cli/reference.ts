import { Command, type Argument, type Option } from 'commander'
import { addSettingOptions } from './options/options.ts'
import type { ConfigSchema } from '../../kernel/index.ts'
import { commands } from './table.ts'
import { processTerminal } from './terminal/terminal.ts'

/**
 * The commands as Markdown, made from their definitions: the reference in docs/command-line.md.
 * @param schema the settings of the built-in plugins
 */
export async function reference (schema: ConfigSchema): Promise<string> {
  // Only the definitions are read; no command runs.
  const none = () => { throw new Error('the reference runs no command') }
  const builtin = {
    storage: none, scratch: none, search: none, executors: [], skills: [], agent: none, endpoints: [], transports: [],
    sections: none
  }
  const context = {
    terminal: processTerminal(), signal: new AbortController().signal, schema, builtin, setStatus: none
  }
  const probe = new Command()
  addSettingOptions(probe, schema, { serve: true })
  const settings = new Set(probe.options.map(({ long }) => long))
  const sections: string[] = []
  for (const { name, aliases = [], description, hidden = false, load } of commands) {
    if (hidden) continue
    const command = new Command(name).description(description)
    ;(await load()).default(command, context)
    const own = [command, ...command.commands].filter(subcommand => subcommand.commands.length === 0)
    const also = aliases.length === 0 ? '' : ` Also \`skillet ${aliases.join('`, `skillet ')}\`.`
    const isConfigured = own.some(subcommand => subcommand.options.some(({ long }) => long === '--data-dir'))
    const takes = isConfigured ? ' Takes the flags of the settings.' : ''
    const blocks = own.map(subcommand => {
      const words = subcommand === command ? name : `${name} ${subcommand.name()}`
      const rows = [
        ...subcommand.registeredArguments.map(argumentRow),
        ...subcommand.options.filter(({ hidden, long }) => !hidden && !(isConfigured && settings.has(long ?? '')))
          .map(optionRow)
      ]
      const lead = subcommand === command ? '' : `**${subcommand.description()}**\n\n`
      return `${lead}\`skillet ${[words, ...subcommand.registeredArguments.map(placeholder), '[options]'].join(' ')}\`\n\n${['| | |', '|---|---|', ...rows].join('\n')}\n`
    })
    sections.push(`### ${name}\n\n${description}.${also}${takes}\n\n${blocks.join('\n')}`)
  }
  const flags = probe.options.filter(({ hidden }) => !hidden).map(optionRow)
  return `${sections.join('\n')}\n### Flags of the settings\n\n| | |\n|---|---|\n${flags.join('\n')}\n`
}

function argumentRow (argument: Argument): string {
  return row(placeholder(argument), argument.description, argument.argChoices)
}

function optionRow ({ flags, description, argChoices }: Option): string {
  return row(flags, description, argChoices)
}

function row (term: string, about: string, choices: readonly string[] | undefined): string {
  const text = choices === undefined ? about : `${about}: ${choices.join(', ')}`
  return `| \`${term.replaceAll('|', '\\|')}\` | ${text.replaceAll('|', '\\|')} |`
}

function placeholder (argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}
