// What does the state machine of an execution cost beside a full XState actor of the same machine?
import { createActor } from 'xstate'
import { executionMachine } from '../kernel/execution.machine.ts'
import { nextStatus } from '../kernel/transitions.ts'
import { benchmark, type Options } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

/** The life of an execution that succeeds: two transitions, and for the actor its start and its stop. Each ends in a status. */
const ways = {
  table: () => nextStatus(nextStatus('queued', { type: 'begin' }), { type: 'succeed' }),
  machine () {
    const actor = createActor(executionMachine).start()
    actor.send({ type: 'begin' })
    actor.send({ type: 'succeed' })
    actor.stop()
    return actor.getSnapshot().value
  }
}

/** CPU of one life, in microseconds. */
function measured (live: () => string, { quick }: Options, often: number) {
  return async (): Promise<number> => {
    const lives = (quick ? 2_000 : 20_000) * often
    let succeeded = 0
    const before = process.cpuUsage()
    for (let i = 0; i < lives; i++) if (live() === 'success') succeeded++
    const { user, system } = process.cpuUsage(before)
    if (succeeded !== lives) throw new Error('a life ended otherwise')
    return (user + system) / lives
  }
}

export default benchmark({
  question: 'How much cheaper is the compiled state machine than a full XState actor?',
  limit_s: 60,
  async run (options) {
    const samples = await interleaved({ table: measured(ways.table, options, 50), machine: measured(ways.machine, options, 1) }, options.quick ? 3 : 9)
    return {
      rows: [{
        what: 'a full XState actor per execution', against: 'the compiled table', unit: '×', goal: { at_least: 12 },
        values: ratios(samples.machine, samples.table), details: { cpu_us: median(samples.machine), peer_cpu_us: median(samples.table) }
      }]
    }
  }
})
