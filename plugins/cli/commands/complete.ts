import { complete } from '../complete.ts'
import type { DefineCommand } from '../command.ts'
import { plain } from '../terminal/layout.ts'

/**
 * `skillet __complete -- WORDS…`: what the last word may become, a line each, with a tab and what that is. The scripts
 * of `skillet completions` ask it.
 */
const define: DefineCommand = (command, context) => {
  command.argument('[words...]').action(async (words: readonly string[]) => {
    const { commands } = await import('../table.ts')
    const found = await complete(commands, words, context)
    context.terminal.out(found.filter(({ word }) => word === plain(word)).map(({ word, about }) => `${word}${about === undefined ? '' : `\t${plain(about).slice(0, 100)}`}\n`).join(''))
  })
}
export default define
