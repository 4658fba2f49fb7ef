import { resolve } from 'node:path'
import type { DefineCommand } from '../command.ts'
import { actOnHistory, executionsIn } from '../history-care.ts'

/** `skillet backup`: copies the history to a file, whether a server runs or not. */
const define: DefineCommand = (command, context) => {
  command.argument('<file>', 'where to write the copy; nothing may be there')
  actOnHistory(command, context,
    ({ care, context: work }, [file = '']) => care.backup(resolve(context.terminal.cwd, file), work),
    ({ file, executions, bytes }) => `${file} has ${executionsIn(executions)} (${bytes} bytes).\n`)
}
export default define
