import { serve } from '../thread/service.ts'
import { slotsMax } from '../shared/board.ts'
import type { ProcessData, ToProcess } from '../shared/process-protocol.ts'
import { openChannel } from './channel.ts'
import { Steps } from './steps.ts'

/** The process in which the scripts of one skill run, confined. Nothing that it says is believed before it is read. */

const data = JSON.parse(process.argv[2] ?? '') as ProcessData // written by the server
process.argv.length = 2
process.execArgv = []
// As in a thread, where there is one working directory for all.
process.chdir = () => {
  throw Object.assign(new TypeError('process.chdir() is not supported in script tools'), {
    code: 'ERR_WORKER_UNSUPPORTED_OPERATION'
  })
}
if (data.listed) (await import('./way-out.ts')).openWayOut(process.env['http_proxy'] ?? '')
const { send, sendLater, giveUp, listen } = openChannel()
const steps = new Steps(send)
const take = serve({
  data,
  board: steps,
  send (message) {
    // The next message is near: the start of the run that follows, or the end of the batch.
    if (message.type === 'told') return sendLater(message)
    if (message.type === 'ended') steps.close()
    send(message)
  },
  giveUp
})
listen((message: ToProcess) => {
  if (message.type === 'batch') steps.open(message.run, Math.min(slotsMax, message.tool_of.length))
  if (message.type !== 'ask' || !steps.recall(message.run)) take(message)
})
send({ type: 'ready' })
