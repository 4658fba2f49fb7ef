import { UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-codes.ts'

/**
 * Whether the user agrees to what was shown: by `--yes`, or by the answer to a question. Otherwise the command says
 * that nothing was changed, and its exit status says so.
 * @throws UsageError when nobody can be asked
 */
export async function agrees (
  question: string, { yes = false }: { yes?: boolean },
  { terminal, signal, setStatus }: Pick<CommandContext, 'terminal' | 'signal' | 'setStatus'>
): Promise<boolean> {
  if (yes) return true
  const answer = await terminal.ask(question, signal)
  if (answer === undefined) {
    throw new UsageError('nobody can be asked: standard input is no terminal; look at what is shown, and add --yes')
  }
  if (/^y(es)?$/i.test(answer.trim())) return true
  terminal.err('Nothing was changed.\n')
  setStatus(EXIT_CODES.tool_failed)
  return false
}
