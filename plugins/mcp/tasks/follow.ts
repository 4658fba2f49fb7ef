import { setTimeout as delay } from 'node:timers/promises'
import type { Call, JsonObject } from '../../../kernel/index.ts'
import type { Host } from '../server/host.ts'
import { findTask } from './callables.ts'
import { showTask } from './show.ts'

/** How long one wait for a change lasts, in milliseconds. */
const wait_ms = 60_000
/** The shortest time between two looks at a task, in milliseconds. */
const look_ms = 100

/**
 * Tells the state of a task now, and each further state until it has ended. Never rejects: a client that is told
 * nothing more can still ask for the task.
 */
export async function followTask (
  id: string, call: Call, host: Host, tell: (task: JsonObject) => void, signal: AbortSignal
): Promise<void> {
  let told: string | undefined
  try {
    while (!signal.aborted) {
      const change = new AbortController()
      const stop = host.tasks.get(id)?.questions.onChange(() => { change.abort() })
      try {
        const task = await showTask(id, { ...call, signal }, host)
        if (task === undefined) return
        const state = JSON.stringify([task.status, task['inputRequests']])
        if (state !== told) tell(task)
        told = state
        if (task.status !== 'working' && task.status !== 'input_required') return
        const until = AbortSignal.any([signal, change.signal])
        await host.gateway.invoke(findTask, { id, wait_ms }, { ...call, signal: until })
      } finally {
        stop?.()
      }
      await delay(look_ms, undefined, { signal })
    }
  } catch (error) {
    if (!signal.aborted) host.log.debug({ execution_id: id, error: String(error) }, 'a task is not followed any longer')
  }
}
