import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import {
  compileCheck, isFinal, messageOf, schemas, SkilletError, type Execution, type Kernel
} from '../../../kernel/index.ts'
import { looking, UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { executionsIn } from '../history-care.ts'
import { actWithKernel } from '../with-kernel.ts'
import { linesIn } from './lines.ts'

/** The records that are saved before the import waits for their commit. */
const recordsPerCommit = 256
const idPattern = /^[\x21-\x7e]{1,128}$/

const check = compileCheck(schemas.Execution, 'execution', { checked: true })

interface Imported { imported: number, present: number }

/** `skillet history import FILE`: adds the records of an export to the history. */
export function defineImport (command: Command, context: CommandContext): void {
  command
    .description('Add the records of an export (JSON lines) to the history; those that are there already stay')
    .argument('<file>', 'a file that skillet history export wrote')
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: looking,
    async act ({ history }, { json = false }, [file = '']) {
      const { terminal, signal } = context
      const result = await importFrom(history, resolve(terminal.cwd, file), signal)
      const { imported, present } = result
      terminal.out(json
        ? `${JSON.stringify(result)}\n`
        : `${executionsIn(imported)} imported${present === 0 ? '' : `, ${present} were there already`}.\n`)
    }
  })
}

/** @throws UsageError for a line that is no record of an execution that has ended; the lines before it are imported */
async function importFrom (history: Kernel['history'], path: string, signal: AbortSignal): Promise<Imported> {
  const result = { imported: 0, present: 0 }
  let number = 1
  const file = await open(path).catch((error: unknown) => { throw new UsageError(messageOf(error), { cause: error }) })
  try {
    for await (const line of linesIn(file.createReadStream({ autoClose: false, signal }))) {
      if (line.trim() !== '') await add(history, read(line), result)
      number++
    }
  } catch (error) {
    await history.commit()
    signal.throwIfAborted()
    const before = `${executionsIn(result.imported)} before it were imported`
    throw new UsageError(`${path}, line ${number}: ${messageOf(error)}; ${before}`, { cause: error })
  } finally {
    await file.close()
  }
  await history.commit()
  return result
}

async function add (history: Kernel['history'], execution: Execution, result: Imported): Promise<void> {
  if (await history.get(execution.id) !== undefined) {
    result.present++
    return
  }
  history.save({ execution, owner: null })
  if (++result.imported % recordsPerCommit === 0) await history.commit()
}

/** @throws Error when the line is no record of an execution that has ended */
function read (line: string): Execution {
  const value: unknown = JSON.parse(line)
  const fault = check(value)
  if (fault !== undefined) throw new SkilletError('INVALID_PARAMETERS', fault)
  const execution = value as Execution // as `check` found
  if (!idPattern.test(execution.id)) throw new Error('its id is not the id of an execution')
  if (!isFinal(execution.status)) throw new Error(`the execution has not ended: it is ${execution.status}`)
  return execution
}
