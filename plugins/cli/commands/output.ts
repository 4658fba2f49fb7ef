import { readRange, SkilletError, textOf, type StoredOutput } from '../../../kernel/index.ts'
import { looking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { invalid } from '../options/run-parameters.ts'
import { steady } from '../terminal/layout.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet output ID`: prints the whole output of an execution that has ended, also where a file has it. */
const define: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the execution')
    .option('--range <bytes>', 'print these bytes alone: 0-999 the first thousand, 1000- those after them, -500 the last')
  actWithKernel<{ json?: boolean, range?: string }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false, range }, [id = '']) {
      const { terminal } = context
      const output = await gateway.outputs({}).open(id)
      const text = await partOf(output, range)
      if (json) terminal.out(`${JSON.stringify({ id, bytes: output.bytes, output: text })}\n`)
      else terminal.out(terminal.shown ? steady(text) : text)
    }
  })
}
export default define

/** @throws SkilletError INVALID_PARAMETERS or RANGE_NOT_SATISFIABLE */
async function partOf (output: StoredOutput, range: string | undefined): Promise<string> {
  const { bytes, execution_id } = output
  const part = range === undefined ? { from: 0, to: bytes } : readRange(range, bytes)
  if (part === 'invalid') throw invalid(`--range ${range}: write FROM-TO in bytes, such as 0-999, 1000- or -500`)
  if (part === undefined) {
    throw new SkilletError('RANGE_NOT_SATISFIABLE', `The output has ${bytes} bytes, none in that range`, {
      execution_id, bytes
    })
  }
  return await textOf(output, part)
}
