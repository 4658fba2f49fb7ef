// What does the state machine of an execution cost beside a full XState actor of the same machine?
import { createActor } from 'xstate'
import { executionMachine } from '../kernel/executions/execution.machine.ts'
import { nextStatus } from '../kernel/executions/transitions.ts'
import { benchmark, type Options } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

/** Two transitions: the life of an execution that succeeds. */
const ways = {
  table: () => nextStatus(nextStatus('queued', { type: 'begin' }), { type: 'succeed' }),
  machine () {
    const actor = createActor(executionMachine).start()
    actor.send({ type: 'begin' })
    actor.send({ type: 'succeed' })
    const { value } = actor.getSnapshot()
    actor.stop()
    return value
  }
}

/** CPU of one life, in microseconds. */
function measured (live: () => string, { quick }: Options) {
  return async (): Promise<number> => {
    const before = process.cpuUsage()
    const end = performance.now() + (quick ? 50 : 300)
    let lives = 0
    while (performance.now() < end) {
      for (let i = 0; i < 1_000; i++) if (live() !== 'success') throw new Error('it did not succeed')
      lives += 1_000
    }
    const { user, system } = process.cpuUsage(before)
    return (user + system) / lives
  }
}

export default benchmark({
  question: 'How much cheaper is the compiled state machine than a full XState actor?',
  limit_s: 60,
  async run (options) {
    const samples = await interleaved(
      { table: measured(ways.table, options), machine: measured(ways.machine, options) },
      options.quick ? 3 : 9
    )
    return {
      rows: [{
        what: 'a full XState actor per execution', against: 'transitions by the compiled table', unit: '×',
        goal: { at_least: 12 },
        values: ratios(samples.machine, samples.table),
        details: { cpu_us: median(samples.machine), peer_cpu_us: median(samples.table) }
      }]
    }
  }
})
