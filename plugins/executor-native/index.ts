import { Type } from 'typebox'
import { definePlugin, processesOf } from '../../kernel/index.ts'
import { examine } from './examine.ts'
import { NativeExecutor } from './executor.ts'

/** Many times what a busy machine needs to start a process. */
const answer_ms = 15_000

/** Runs native skills: commands, as argument vectors, each in a process group of its own. */
export default definePlugin({
  name: 'executor-native',
  slot: 'executor',
  options: Type.Object({
    helpers: Type.Integer({ default: 1, minimum: 1, maximum: 16, description: 'Helper processes that start the commands' })
  }, { additionalProperties: false }),
  setup ({ config, scope, log, health }, { helpers }) {
    const executor = new NativeExecutor({
      processes: processesOf(config), helpers, directory: process.cwd(), outputBytesMax: config.execution.output_bytes_max, answer_ms, log, health
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: ({ skills }) => examine(skills)
})
