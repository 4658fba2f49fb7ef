// What does the state machine of an execution cost beside a full XState actor of the same machine?
import { createActor } from 'xstate'
import { executionMachine } from '../kernel/execution.machine.ts'
import { createExecutionActor } from '../kernel/transitions.ts'
import { benchmark, type Options } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

/** Start, two transitions, stop: the life of an execution that succeeds. */
const ways = {
  table () {
    const actor = createExecutionActor()
    actor.send({ type: 'begin' })
    actor.send({ type: 'succeed' })
    actor.stop()
  },
  machine () {
    const actor = createActor(executionMachine).start()
    actor.send({ type: 'begin' })
    actor.send({ type: 'succeed' })
    actor.stop()
  }
}

/** CPU of one life, in microseconds. */
function measured (live: () => void, { quick }: Options) {
  return async (): Promise<number> => {
    const lives = quick ? 2_000 : 20_000
    const before = process.cpuUsage()
    for (let i = 0; i < lives; i++) live()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / lives
  }
}

export default benchmark({
  question: 'How much cheaper is the compiled state machine than a full XState actor?',
  limit_s: 60,
  async run (options) {
    const samples = await interleaved({ table: measured(ways.table, options), machine: measured(ways.machine, options) }, options.quick ? 3 : 9)
    return {
      rows: [{
        what: 'a full XState actor per execution', against: 'the actor over the compiled table', unit: '×', goal: { at_least: 12 },
        values: ratios(samples.machine, samples.table), details: { cpu_us: median(samples.machine), peer_cpu_us: median(samples.table) }
      }]
    }
  }
})
