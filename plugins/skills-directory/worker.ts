import { parentPort, workerData } from 'node:worker_threads'
import { pruneCache } from './build.ts'
import { describeSkill } from './describe.ts'
import type { DescriberData, Reply, Request } from './protocol.ts'
import { buildScript } from './script.ts'

/** The thread that describes skills. One request at a time, one reply to each; it ends by being ended. */
const port = parentPort
if (port === null) throw new Error('this module is the entry of a worker thread')
const data = workerData as DescriberData // only describer.ts starts it

port.on('message', (request: Request) => {
  void reply(request)
})
port.postMessage({ type: 'ready' } satisfies Reply)

async function reply (request: Request): Promise<void> {
  port?.postMessage(await answer(request))
}

async function answer (request: Request): Promise<Reply> {
  switch (request.type) {
    case 'describe': {
      const descriptions = []
      for (const folder of request.folders) descriptions.push(await describeSkill(folder, data))
      return { type: 'described', descriptions }
    }
    case 'build': {
      await Promise.allSettled(request.folders.map(folder => buildScript(folder, data)))
      return { type: 'built' } // what is wrong is told when they are described
    }
    case 'prune': return { type: 'pruned', removed: pruneCache(data.cache_dir) }
  }
}
