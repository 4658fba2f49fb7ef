import { setImmediate } from 'node:timers/promises'
import { messageOf, type Logger } from '../../kernel/index.ts'
import type { Environment } from './environment.ts'
import type { History } from './history.ts'

/** How often executions past their age are looked for. */
const every_ms = 60_000

/** Removes what is too old or too many, in steps that leave room for commits; now, and every minute. @returns what stops it */
export function startSweep (env: Environment, history: History, log: Logger): () => Promise<void> {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  const sweep = async (): Promise<void> => {
    try {
      while (!stop.signal.aborted && history.hasTooMany()) {
        await env.transact(() => { history.sweep() })
        await setImmediate()
      }
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the history could not be pruned')
    }
    running = undefined
  }
  const start = (): void => { running ??= sweep() }
  const timer = setInterval(start, every_ms).unref()
  start()
  return async () => {
    stop.abort()
    clearInterval(timer)
    await running
  }
}
