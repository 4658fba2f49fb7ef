import { availableParallelism } from 'node:os'
import {
  collectedBytesMax, definePlugin, SkilletError, type Config, type Executor, type Outcome
} from '../../kernel/index.ts'
import { advised } from '../toolkit/sandbox/advice.ts'
import { ConfinementError } from '../toolkit/sandbox/confinement-policy.ts'
import { examineScriptSandbox } from './examine.ts'
import { Homes } from './homes.ts'
import { declared, executionSection } from './settings.ts'
import { stopping } from './shared/limits.ts'

/** Between asking a tool to end and ending its thread. */
const grace_ms = 300
/** Threads there may be at least, and for each that may compute: most of many wait. */
const threadsMin = 64
const threadsEach = 8
/** Confined processes there may be at least, and for each core: each takes some 40 MB. */
const processesMin = 16
const processesEach = 4

/** The limits of the pool that are settings. */
function limitsOf (config: Config) {
  const threads = executionSection.of(config).threads || availableParallelism()
  const { queue_max, heap_bytes_max } = config.execution
  return {
    threads,
    threadsMax: Math.max(threadsMin, threadsEach * threads),
    queueMax: queue_max,
    outputBytesMax: collectedBytesMax(config),
    heapBytesMax: heap_bytes_max
  }
}

/** The outcome of a script that may run in a sandbox only. */
function notConfined ({ message }: ConfinementError): Outcome {
  return { status: 'failed', output: '', output_truncated: false, error: { message, details: {} } }
}

/** Runs script skills in worker threads, and those that have to be confined in processes of their own. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup (context, { load_ms, idle_ms, processes }): Executor {
    const { config, scope } = context
    const limits = { ...limitsOf(config), load_ms, grace_ms, idle_ms }
    const processesMax = processes || Math.max(processesMin, processesEach * availableParallelism())
    const homes = new Homes(context, limits, processesMax)
    scope.defer(() => homes.close())
    const getReady = async (): Promise<void> => { (await homes.loadPool()).prepare() }
    const inThread: Executor['run'] = (task, observer, signal) => {
      if (homes.pool !== undefined) return homes.pool.run(task, observer, signal)
      if (homes.closed) return Promise.reject(new SkilletError('OVERLOADED', stopping))
      return homes.loadPool().then(pool => pool.run(task, observer, signal))
    }
    const confined: Executor['run'] = async (task, observer, signal) => {
      if (homes.closed) throw new SkilletError('OVERLOADED', stopping)
      let level
      try {
        level = await homes.policy.levelOf(task.skill)
      } catch (error) {
        if (error instanceof ConfinementError) return notConfined(error)
        throw error
      }
      if (level === undefined) return await inThread(task, observer, signal)
      const home = homes.confined ?? await homes.loadConfined()
      return advised(await home.run(task, level, observer, signal), task.skill)
    }
    const executor: Executor & { readonly size: number } = {
      runtime: 'script',
      /** Threads and confined processes there are, whatever they do. */
      get size () { return (homes.pool?.size ?? 0) + (homes.confined?.size ?? 0) },
      run: (task, observer, signal) =>
        homes.policy.concerns(task.skill) ? confined(task, observer, signal) : inThread(task, observer, signal),
      prepare () { if (!homes.closed) getReady().catch(() => {}) }, // the run will tell what is wrong
      async probe () {
        if (homes.closed) throw new Error(stopping)
        await (await homes.loadPool()).probe()
        await homes.confined?.probe()
      }
    }
    return executor
  },
  examine: ({ config }) => examineScriptSandbox(config.isolation)
})
