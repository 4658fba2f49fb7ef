import { messageOf, type Logger } from '../../../kernel/index.ts'
import { nodeEngine } from './node.ts'
import type { Engine } from './server.ts'
import { loadUws } from './uws.ts'

/**
 * @param choice `auto`: uWebSockets.js where it loads, otherwise node:http with a warning
 * @param load loads uWebSockets.js; a test passes a function that fails
 * @throws Error when `uws` was chosen and does not load
 */
export async function chooseEngine (choice: 'auto' | 'uws' | 'node', log: Logger, load = loadUws): Promise<Engine> {
  if (choice === 'node') return nodeEngine
  try {
    return await load()
  } catch (error) {
    const reason = messageOf(error)
    if (choice === 'uws') throw new Error(`uWebSockets.js does not load: ${reason}`, { cause: error })
    log.warn(
      { reason, node: process.version },
      'uWebSockets.js does not load here; the slower node:http serves instead'
    )
    return nodeEngine
  }
}
