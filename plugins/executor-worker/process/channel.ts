import { Socket } from 'node:net'
import { frameOf, FrameReader } from '../../toolkit/sandbox/frames.ts'
import { wholeWriter } from '../../toolkit/sandbox/write-whole.ts'
import type { FromProcess, ToProcess } from '../shared/process-protocol.ts'

/** The descriptor of the channel to the server. */
const descriptor = 3
/** The longest frame of the server, in bytes. */
const frameBytesMax = 2 ** 30

export interface Channel {
  /** Sends a message before it returns, after those that were put off. */
  send (message: FromProcess): void
  /** Sends a message with the next one. */
  sendLater (message: FromProcess): void
  /** Ends the process, since what it runs on is broken. */
  giveUp (): void
  /** @param take called with each message of the server */
  listen (take: (message: ToProcess) => void): void
}

/** The channel to the server. Its functions of Node are taken before a tool could replace them. */
export function openChannel (): Channel {
  const { concat } = Buffer
  const exit = process.exit.bind(process)
  const writeWhole = wholeWriter(descriptor)
  let later: Buffer[] = []
  const flush = (...last: Buffer[]): void => {
    const frames = [...later, ...last]
    later = []
    writeWhole(frames.length === 1 && frames[0] !== undefined ? frames[0] : concat(frames))
  }
  process.on('exit', () => { if (later.length > 0) flush() })
  return {
    send (message) { flush(frameOf(message)) },
    sendLater (message) { later.push(frameOf(message)) },
    giveUp () { exit(1) },
    listen (take) { listen(take, exit) }
  }
}

function listen (take: (message: ToProcess) => void, exit: (code: number) => never): void {
  const socket = new Socket({ fd: descriptor, readable: true, writable: false })
  const reader = new FrameReader(frameBytesMax, value => { take(value as ToProcess) }) // the server sent it
  socket.on('data', (chunk: Buffer) => {
    try {
      reader.add(chunk)
    } catch {
      exit(1) // a tool has broken what this runs on
    }
  })
  socket.on('error', () => { exit(1) }).on('close', () => { exit(0) })
  hide(socket)
}

/** Node shows what keeps a process alive to whoever asks. */
function hide (socket: Socket): void {
  if (!('_getActiveHandles' in process) || typeof process._getActiveHandles !== 'function') return
  const handles: unknown = process._getActiveHandles.bind(process)
  if (typeof handles !== 'function') return
  Object.defineProperty(process, '_getActiveHandles', {
    value (): unknown[] {
      const all: unknown = handles()
      return Array.isArray(all) ? all.filter(handle => handle !== socket) : []
    },
    writable: false,
    configurable: false
  })
}
