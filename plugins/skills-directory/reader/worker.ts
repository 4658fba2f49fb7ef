import { MessagePort, parentPort, workerData } from 'node:worker_threads'
import { pruneCache } from './build.ts'
import { describeSkill } from './read-skill.ts'
import type { DescriberData, Reply, Request, ThreadData } from '../shared/protocol.ts'
import { buildScript } from './script.ts'

/**
 * The thread that describes skills. It handles one request at a time, with one reply to each; the main thread ends it.
 * Modules run in it, so its port is moved out of their reach before the first module runs, and only this file can send
 * messages by it.
 */
const { port, ...data }: ThreadData = workerData // only describer.ts starts this thread
for (const key of Object.keys(workerData)) Reflect.deleteProperty(workerData, key)
const { postMessage } = MessagePort.prototype
const { apply } = Reflect
const locked = [port, parentPort]
const isLocked = locked.includes.bind(locked)
Object.defineProperty(MessagePort.prototype, 'postMessage', {
  value (this: MessagePort, ...args: unknown[]): unknown {
    if (isLocked(this)) throw new Error('a skill can\'t send messages to the server')
    return apply(postMessage, this, args)
  },
  writable: false,
  configurable: false
})

port.on('message', (request: Request) => { void reply(request) })
send({ type: 'ready' })

function send (reply: Reply): void {
  apply(postMessage, port, [reply])
}

async function reply (request: Request): Promise<void> {
  send(await answer(request, data))
}

async function answer (request: Request, data: DescriberData): Promise<Reply> {
  switch (request.type) {
    case 'describe': {
      const descriptions = []
      for (const folder of request.folders) descriptions.push(await describeSkill(folder, data))
      return { type: 'described', descriptions }
    }
    case 'build': {
      await Promise.allSettled(request.folders.map(folder => buildScript(folder, data)))
      return { type: 'built' } // build errors are reported when the folders are described
    }
    case 'prune': return { type: 'pruned', removed: pruneCache(data.cache_dir) }
  }
}
