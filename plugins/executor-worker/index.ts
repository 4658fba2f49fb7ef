import { availableParallelism } from 'node:os'
import { definePlugin, SkilletError, type Config, type Executor, type Outcome } from '../../kernel/index.ts'
import type { Pool } from './main/pool.ts'
import { declared, executionSection } from './settings.ts'
import { sandboxDemand } from '../toolkit/sandbox-demand.ts'
import { stopping } from './shared/limits.ts'

/** Between asking a tool to end and ending its thread. */
const grace_ms = 300
/** Threads there may be at least, and for each that may compute: most of many wait. */
const threadsMin = 64
const threadsEach = 8

/** The limits of the pool that are settings. */
function limitsOf (config: Config) {
  const threads = executionSection.of(config).threads || availableParallelism()
  const { queue_max, output_bytes_max, heap_bytes_max } = config.execution
  return {
    threads,
    threadsMax: Math.max(threadsMin, threadsEach * threads),
    queueMax: queue_max,
    outputBytesMax: output_bytes_max,
    heapBytesMax: heap_bytes_max
  }
}

/** The outcome of a script that may run in a sandbox only. */
function notConfined (name: string, demand: string): Outcome {
  const message = `${name} must run in a sandbox (${demand}), and scripts run in threads, without one; trust the skill to run it`
  return { status: 'failed', output: '', output_truncated: false, error: { message, details: {} } }
}

/** Runs script skills in worker threads. The pool is loaded when the first of them is to run. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup ({ config, scope, log }, { load_ms, idle_ms }): Executor {
    const limits = { ...limitsOf(config), load_ms, grace_ms, idle_ms }
    let pool: Pool | undefined
    let loading: Promise<Pool> | undefined
    const load = (): Promise<Pool> =>
      loading ??= import('./main/pool.ts').then(({ Pool }) => pool = new Pool(limits, log))
    let closed = false
    scope.defer(async () => {
      closed = true
      await (await loading)?.close()
    })
    const getReady = async (): Promise<void> => { (await load()).prepare() }
    const executor: Executor & { readonly size: number } = {
      runtime: 'script',
      /** Threads there are, whatever they do. */
      get size () { return pool?.size ?? 0 },
      run (task, observer, signal) {
        const demand = sandboxDemand(task.skill, config.isolation)
        if (demand !== undefined) return Promise.resolve(notConfined(task.skill.name, demand))
        if (pool !== undefined) return pool.run(task, observer, signal)
        if (closed) return Promise.reject(new SkilletError('OVERLOADED', stopping))
        return load().then(pool => pool.run(task, observer, signal))
      },
      prepare () { if (!closed) getReady().catch(() => {}) }, // the run will tell what is wrong
      async probe () {
        if (closed) throw new Error(stopping)
        await (await load()).probe()
      }
    }
    return executor
  }
})
