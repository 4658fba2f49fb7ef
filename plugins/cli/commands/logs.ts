import {
  getExecution, isFinal, listExecutions, messageOf, SkilletError, type Kernel, type LiveEvent
} from '../../../kernel/index.ts'
import { looking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { serverEvents } from '../events/server-events.ts'
import { showEvents } from '../events/show-events.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet logs [ID]`: shows what an execution writes, reports and logs; with `--follow` while it runs. */
const define: DefineCommand = (command, context) => {
  command
    .argument('[id]', 'the execution; the newest where absent')
    .option('--follow', 'go on until the execution has ended, or Ctrl-C')
  actWithKernel<{ json?: boolean, follow?: boolean }>(command, context, {
    needs: looking,
    async act (kernel, { json = false, follow = false }, [givenId]) {
      const { terminal, signal } = context
      const { gateway } = kernel
      const call = { transport: 'cli' as const, signal }
      const id = givenId ?? (await gateway.invoke(listExecutions, { limit: 1 }, call)).executions[0]?.id
      if (id === undefined) throw new SkilletError('EXECUTION_NOT_FOUND', 'The history is empty: nothing was run yet')
      const { status } = await gateway.invoke(getExecution, { id }, call)
      if (!isFinal(status) && !follow) {
        terminal.err(`The execution is ${status}. To see what it writes: skillet logs ${id} --follow\n`)
        return
      }
      await follower(kernel, id, terminal, showEvents(terminal, json), AbortSignal.any([signal, terminal.unread]))
      signal.throwIfAborted()
    }
  })
}
export default define

/**
 * Shows the events of an execution to its end. A server on the same history has the output while an execution runs;
 * where there is none, or it goes away, the rest comes from the history.
 */
async function follower (
  { gateway, server }: Kernel, id: string, { env }: Terminal, show: (event: LiveEvent) => void, signal: AbortSignal
): Promise<void> {
  let last: string | undefined
  let hasEnded = false
  const take = (event: LiveEvent): void => {
    last = event.id
    hasEnded = event.type === 'end'
    show(event)
  }
  const [url] = isFinal((await gateway.invoke(getExecution, { id }, { transport: 'cli', signal })).status)
    ? []
    : await server()
  if (url !== undefined) {
    try {
      for await (const event of serverEvents(url, id, last, env['SERVICE_API_KEY'], signal)) take(event)
    } catch (error) {
      if (signal.aborted) return
      const at = new Date().toISOString()
      const text = `The server at ${url} does not send the events (${messageOf(error)}); the history is read instead`
      show({ type: 'notice', id: last ?? '', at, text })
    }
  }
  if (hasEnded || signal.aborted) return
  for await (const events of await gateway.live({}).follow(id, last, signal)) for (const event of events) take(event)
}
