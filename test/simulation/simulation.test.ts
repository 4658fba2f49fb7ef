import * as fc from 'fast-check'
import t from 'tap'
import { EXECUTION_STATUSES } from '../../kernel/index.ts'
import { history, type History } from './history.ts'
import { Simulation } from './simulation.ts'

/** `npm run test:simulation` asks for 10,000 histories; otherwise as many as there is time for. */
const histories = Number(process.env['SKILLET_SIMULATION_HISTORIES'] ?? 0)
/** How long the simulation takes in the ordinary suite, in milliseconds. */
const short_ms = 20_000
/** A history takes some milliseconds; one that takes so long does not end. */
const hang_ms = 15_000
/** Of a failure: the seed of the histories, and the path to one of them, as `SEED:PATH`. */
const [given = '', ...path] = (process.env['SKILLET_SEED'] ?? '').split(':').filter(part => part !== '')
// The ordinary suite has the same histories each time, so that only a change can make it fail.
const seed = given !== '' ? Number(given) : histories > 0 ? Date.now() | 0 : 1

t.setTimeout(0)

t.test('whatever happens, executions keep the rules', async t => {
  const seen = new Set<string>()
  const property = fc.asyncProperty(history, async drawn => {
    const simulation = new Simulation(drawn)
    await simulation.run()
    for (const what of simulation.seen) seen.add(what)
  })
  const result = await fc.check(property, {
    seed,
    timeout: hang_ms,
    ...(histories > 0 ? { numRuns: histories } : { numRuns: 10_000, interruptAfterTimeLimit: short_ms }),
    ...(path.length > 0 && { numRuns: 1, path: path.join(':'), endOnFailure: true })
  })
  t.comment(`${result.numRuns} histories, seed ${seed}`)
  if (!result.failed) {
    const wanted = [...EXECUTION_STATUSES, 'adopted', 'approved', 'crash', 'denied', 'refused'].sort()
    if (path.length === 0) t.same([...seen].sort(), wanted, 'all happened')
    return
  }
  const [smallest] = result.counterexample ?? []
  const lines = smallest === undefined ? [] : await explain(smallest)
  // In the title, because a long line of the facts below would be folded.
  const command = `SKILLET_SEED=${seed}:${result.counterexamplePath} npm run test:simulation`
  t.fail(`this repeats it: ${command}`, {
    broken: String(result.errorInstance),
    settings: { ...smallest, steps: undefined },
    trace: lines
  })
})

/** What happens in a history, a line each. */
async function explain (drawn: History): Promise<string[]> {
  const simulation = new Simulation(drawn, true)
  await simulation.run().catch(() => {})
  return simulation.trace
}
