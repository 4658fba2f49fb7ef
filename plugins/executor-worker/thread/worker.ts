import { Board } from '../shared/board.ts'
import { externalBytesName, type Service, type ToThread } from '../shared/protocol.ts'
import { lock } from './lock.ts'
import { externalBytes, serve } from './service.ts'

/** The script thread: `service.ts`, with a port and a board that it shares with the main thread. */

const { data, open, send, giveUp } = lock(() => { board.leave() })
const board = new Board(data.board)
const take = serve({ data, board, send, giveUp })
// Nobody can put another in its place, or another value.
Object.defineProperty(globalThis, externalBytesName, { value: externalBytes })

/** The only task of the Piscina pool that this thread is. It serves until the thread ends. */
export default function run ({ port }: Service): Promise<never> {
  open(port)
  port.on('message', (message: ToThread) => { take(message) }) // the main thread sent it
  return new Promise(() => {})
}
