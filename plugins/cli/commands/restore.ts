import { resolve } from 'node:path'
import type { DefineCommand } from '../command.ts'
import { actOnHistory, executionsIn } from '../history-care.ts'

/** `skillet restore`: checks a copy and puts it in the place of the history, which is kept. */
const define: DefineCommand = (command, context) => {
  command.argument('<file>', 'a copy that skillet backup has written')
  actOnHistory(command, context,
    ({ care, context: work }, [file = '']) => care.restore(resolve(context.terminal.cwd, file), work),
    ({ executions, aside }) => {
      const former = aside === null ? '' : `The former history is ${aside}\n`
      return `The history has ${executionsIn(executions)} now.\n${former}`
    })
}
export default define
