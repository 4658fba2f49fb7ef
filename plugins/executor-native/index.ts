import { availableParallelism } from 'node:os'
import { Type } from 'typebox'
import { definePlugin, processesOf, schemas } from '../../kernel/index.ts'
import { examine } from './examine.ts'
import { NativeExecutor } from './executor.ts'
import { compiledHelper } from './helper-program.ts'

/**
 * The time limit of a helper's answer, in milliseconds: many times as long as a busy machine needs to start a process.
 */
const answer_ms = 15_000

/** Runs native skills: commands, given as argument vectors, each in a process group of its own. */
export default definePlugin({
  name: 'executor-native',
  slot: 'executor',
  options: Type.Object({
    helpers: Type.Integer({ default: 0, minimum: 0, maximum: 16, description: 'Helper processes that start the commands, each started when it is needed; 0: one per core, eight at most' }),
    helper: schemas.Choice(['auto', 'node'], { default: 'auto', description: '"auto": the helper in C, where the build could compile it, else the one in Node' })
  }, { additionalProperties: false }),
  setup ({ config, scope, log, health }, { helpers, helper }) {
    const executor = new NativeExecutor({
      processes: processesOf(config), helpers: helpers || Math.min(8, availableParallelism()), compiled: helper === 'node' ? undefined : compiledHelper(), directory: process.cwd(), outputBytesMax: config.execution.output_bytes_max, answer_ms, log, health
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: ({ skills }) => examine(skills)
})
