import { complete } from '../complete.ts'
import type { DefineCommand } from '../command.ts'
import { plain } from '../terminal/layout.ts'

/**
 * `skillet __complete -- WORDS…`: prints the completions of the last word, one a line, each with a tab and a
 * description. The scripts of `skillet completions` call it.
 */
const define: DefineCommand = (command, context) => {
  command.argument('[words...]').action(async (words: readonly string[]) => {
    const { commands } = await import('../table.ts')
    const candidates = await complete(commands, words, context)
    context.terminal.out(candidates.filter(({ word }) => word === plain(word))
      .map(({ word, about }) => `${word}${about === undefined ? '' : `\t${plain(about).slice(0, 100)}`}\n`)
      .join(''))
  })
}
export default define
