// How long does the next execution take after a tool hung in a loop and was killed?
import { request as execute } from '../test/support/program.ts'
import { benchmark } from './lib/benchmark.ts'
import { trivial, withServers } from './lib/servers.ts'
import { interleaved, median } from './lib/statistics.ts'

export default benchmark({
  question: 'How long does the next execution take after a tool hung and was killed, with one thread?',
  limit_s: 60,
  run: options => withServers(async servers => {
    // One thread: the next execution can't go around the one that was killed.
    const { url } = await servers.skillet(['--storage-durability', 'deferred', '--execution-threads', '1'])
    const next = async (): Promise<number> => {
      const began = performance.now()
      const { status } = await execute(url, '/api/execute', trivial)
      if (status !== 200) throw new Error(`the next execution answered ${status}`)
      return performance.now() - began
    }
    const samples = await interleaved({
      well: next,
      async hung () {
        const { status } = await execute(url, '/api/execute', {
          skill_name: 'trivial', tool_name: 'hang', parameters: {}, timeout_ms: 200
        })
        if (status !== 504) throw new Error(`the hanging tool answered ${status}`)
        return await next()
      }
    }, options.quick ? 3 : 15)
    return {
      rows: [{
        what: 'next execution after a tool hung and was killed', unit: 'ms', values: samples.hung,
        goal: { at_most: 100 },
        details: { longest_ms: Math.max(...samples.hung), without_hang_ms: median(samples.well) }
      }]
    }
  })
})
