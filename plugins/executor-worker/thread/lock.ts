import { setPriority } from 'node:os'
import { MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { FromThread, ThreadData } from '../shared/protocol.ts'

export interface Locked {
  data: ThreadData
  /** Takes the port to the main thread, and lets nobody else send by it. Before any tool is loaded. */
  open (port: MessagePort): void
  send (message: FromThread): void
  /** Ends the thread, since a tool broke what it runs on. */
  giveUp (): void
}

/**
 * Takes what the thread was given out of the reach of tools: its board, the ports that Node has for itself, and the
 * ways by which a message could be sent as the thread's own. It keeps tools from harm that they do by accident, and
 * those that mean harm from the short ways; what still gets through is refused by the main thread.
 * @param leave called when a tool ends the thread
 */
export function lock (leave: () => void): Locked {
  const data: ThreadData = { ...workerData } // thread.ts made it
  for (const key of Object.keys(workerData)) Reflect.deleteProperty(workerData, key)
  if (data.nice > 0 && process.platform === 'linux') setPriority(data.nice) // elsewhere it is the whole process's
  let post: ((message: FromThread) => void) | undefined
  hidePorts()
  const { exit } = process
  process.on('exit', leave) // what ends it otherwise, such as an error that nobody caught
  const end = (code?: number): void => {
    leave()
    exit(code)
  }
  fix(process, 'exit', end)
  return {
    data,
    open (port) {
      const send = lockPorts([port, parentPort])
      post = message => { send(port, message) }
    },
    send: message => post?.(message),
    giveUp: () => { end(1) }
  }
}

/** Lets nobody else send by these ports. @returns what does */
function lockPorts (ports: readonly (MessagePort | null)[]): (port: MessagePort, message: unknown) => void {
  const { postMessage } = MessagePort.prototype
  const { apply } = Reflect
  const locked = new WeakSet(ports.filter(port => port !== null))
  const isLocked = locked.has.bind(locked)
  fix(MessagePort.prototype, 'postMessage', function (this: MessagePort, ...args: unknown[]): unknown {
    if (isLocked(this)) {
      throw new Error('a tool can\'t send messages to the server: it answers by what it returns, and says what it does by context.progress and context.log')
    }
    return apply(postMessage, this, args)
  })
  return (port, message) => { apply(postMessage, port, [message]) }
}

/** Node shows what keeps a process alive, ports among it, to whoever asks. */
function hidePorts (): void {
  if (!('_getActiveHandles' in process) || typeof process._getActiveHandles !== 'function') return
  const handles: unknown = process._getActiveHandles.bind(process)
  if (typeof handles !== 'function') return
  fix(process, '_getActiveHandles', () => {
    const all: unknown = handles()
    return Array.isArray(all) ? all.filter(handle => !(handle instanceof MessagePort)) : []
  })
}

/** Puts something in the place of a property, for good. */
function fix (object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: false, configurable: false })
}
