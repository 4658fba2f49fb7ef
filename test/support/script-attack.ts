// A server of its own that a script attacks, beside another skill: tells what became of both, as JSON.
//   node script-attack.js MODE DATA_DIR MODULE PARAMETERS
// MODE is that of isolation, or `strict` for this level.
import { join } from 'node:path'
import type { Isolation, JsonObject, Outcome, SkillDefinition } from '../../kernel/index.ts'
import plugin from '../../plugins/executor-worker/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'

export interface Attacked {
  /** The run that attacks, and where it ran. */
  attack: Outcome
  isolation: Isolation | undefined
  /** A run of another skill meanwhile, and one afterwards. */
  during: Outcome
  after: Outcome
  /** Another run of the skill that attacked. */
  again: Outcome
}

if (process.argv[2] !== undefined) {
  const [, , mode, data_dir = '', module = '', parameters = ''] = process.argv
  const settings = mode === 'strict' ? { mode: 'required', level: mode } : { mode }
  const { service: executor, close } = await openPlugin(plugin, {
    config: { isolation: settings, execution: { threads: 2, heap_bytes_max: 64 * 1_048_576 } }, data_dir
  })
  const endless = /"(spin|bomb)"/
  const run = (
    name: string, given: JsonObject, skill: Partial<SkillDefinition>, started: (isolation: Isolation) => void = () => {}
  ): Promise<Outcome> => executor.run(
    {
      execution_id: name, ...callOf('script', { name }, given, { module, trusted: false, ...skill }),
      timeout_ms: endless.test(parameters) ? 3_000 : 60_000, config: {}
    },
    { started, progress () {}, log () {} },
    new AbortController().signal
  )
  const victim = { name: 'victim', directory: join(data_dir, 'victim') }
  const attacker = { name: 'attacker', directory: join(data_dir, 'attacker') }
  await run('echo', { text: 'warm' }, victim)
  const during = run('sleep', { ms: 500 }, victim)
  let isolation: Isolation | undefined
  const attack = await run('attack', JSON.parse(parameters) as JsonObject, attacker, where => { isolation = where })
  const after = await run('echo', { text: 'well' }, victim)
  const again = await run('echo', { text: 'again' }, attacker)
  const attacked: Attacked = { attack, isolation, during: await during, after, again }
  process.stdout.write(JSON.stringify(attacked))
  await close()
}
