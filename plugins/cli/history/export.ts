import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import {
  compileCheck, executionFilter, executionWords, hasAll, hasCode, listExecutions, soughtIn, type Execution,
  type ExecutionFilter, type FilterInput, type JsonObject, type SoughtWord
} from '../../../kernel/index.ts'
import { looking, UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { executionsIn } from '../history-care.ts'
import { addInputOptions } from '../options/input-options.ts'
import { filterNames, resolveTimes, timesHelp } from '../time.ts'
import { actWithKernel } from '../with-kernel.ts'
import { csvOf } from './csv.ts'

/** The characters that are written at once. */
const writeCharacters = 65_536

const checkFilters = compileCheck(listExecutions.input, 'filters', { checked: true })

const formats = ['jsonl', 'csv'] as const

interface Options { json?: boolean, format?: typeof formats[number] }

/** `skillet history export [FILE]`: writes the records that match, oldest first, to a file or standard output. */
export function defineExport (command: Command, context: CommandContext): void {
  command
    .description('Write the records of what has ended to a file, oldest first')
    .argument('[file]', 'where to write them; standard output where absent, and nothing may be there')
    .addOption(new Option('--format <format>', 'JSON lines, which can be imported, or CSV')
      .choices(formats).default('jsonl'))
  const input = addInputOptions(command, listExecutions, { names: filterNames, without: ['limit', 'offset', 'cursor'] })
  command.addHelpText('after', timesHelp)
  actWithKernel<Options>(command, context, {
    needs: looking,
    async act ({ history }, { json = false, format = 'jsonl' }, [file]) {
      const { terminal, signal } = context
      let count = 0
      const counted = async function * (): AsyncGenerator<Execution> {
        const { words, filter } = filterIn(resolveTimes(input()))
        for await (const execution of history.records(filter)) {
          signal.throwIfAborted()
          if (words !== undefined && !hasAll(executionWords(execution), words)) continue
          count++
          yield execution
        }
      }
      const texts = format === 'csv' ? csvOf(counted()) : linesOf(counted())
      if (file === undefined) {
        for await (const text of texts) terminal.out(text)
        return
      }
      const path = resolve(terminal.cwd, file)
      await write(path, texts)
      terminal.out(json
        ? `${JSON.stringify({ file: path, executions: count })}\n`
        : `${path} has ${executionsIn(count)}.\n`)
    }
  })
}

async function * linesOf (executions: AsyncIterable<Execution>): AsyncGenerator<string> {
  for await (const execution of executions) yield `${JSON.stringify(execution)}\n`
}

/** @throws UsageError for a filter that is not valid, such as a time that is none */
function filterIn (given: JsonObject): { words: SoughtWord[] | undefined, filter: ExecutionFilter } {
  const fault = checkFilters(given)
  if (fault !== undefined) throw new UsageError(fault)
  const { limit: _limit, offset: _offset, text, ...filters } = given
  return {
    words: typeof text === 'string' ? soughtIn(text) : undefined,
    filter: executionFilter(filters as FilterInput) // as `checkFilters` found
  }
}

/**
 * Writes a file that only its owner can read, and has it on disk at the end.
 * @throws UsageError when there is a file already
 */
async function write (path: string, texts: AsyncIterable<string>): Promise<void> {
  let file
  try {
    file = await open(path, 'wx', 0o600)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new UsageError(`${path} is there already; name another file`, { cause: error })
    throw error
  }
  try {
    let waiting = ''
    for await (const text of texts) {
      waiting += text
      if (waiting.length < writeCharacters) continue
      await file.appendFile(waiting)
      waiting = ''
    }
    await file.appendFile(waiting)
    await file.sync()
  } finally {
    await file.close()
  }
}
