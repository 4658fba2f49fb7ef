import { availableParallelism } from 'node:os'
import { definePlugin, SkilletError, type Executor } from '../../kernel/index.ts'
import type { Pool } from './main/pool.ts'
import { executionSection, options } from './settings.ts'
import { stopping } from './shared/limits.ts'

/** Between asking a tool to end and ending its thread. */
const grace_ms = 300
/** Threads there may be at least, and for each that may compute: most of many wait. */
const threadsMin = 64
const threadsEach = 8

/** Runs script skills in worker threads. The pool is loaded when the first of them is to run. */
export default definePlugin({
  name: 'executor-worker',
  slot: 'executor',
  options,
  sections: [executionSection],
  setup ({ config, scope, log }, { load_ms, idle_ms }): Executor {
    const threads = executionSection.of(config).threads || availableParallelism()
    const { queue_max, output_bytes_max, heap_bytes_max } = config.execution
    const limits = {
      threads,
      threadsMax: Math.max(threadsMin, threadsEach * threads),
      queueMax: queue_max,
      outputBytesMax: output_bytes_max,
      heapBytesMax: heap_bytes_max,
      load_ms,
      grace_ms,
      idle_ms
    }
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
