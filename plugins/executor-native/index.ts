import { availableParallelism } from 'node:os'
import { definePlugin } from '../../kernel/index.ts'
import { examine } from './examine.ts'
import { NativeExecutor } from './executor.ts'
import { compiledHelper } from './helper-program.ts'
import { executionSection, options } from './settings.ts'

/**
 * The time limit of a helper's answer, in milliseconds: many times as long as a busy machine needs to start a process.
 */
const answer_ms = 15_000

/** Runs native skills: commands, given as argument vectors, each in a process group of its own. */
export default definePlugin({
  name: 'executor-native',
  slot: 'executor',
  options,
  sections: [executionSection],
  setup ({ config, scope, log, health }, { helpers, helper }) {
    const executor = new NativeExecutor({
      processes: executionSection.of(config).processes || 4 * availableParallelism(),
      helpers: helpers || Math.min(8, availableParallelism()), compiled: helper === 'node' ? undefined : compiledHelper(), directory: process.cwd(), outputBytesMax: config.execution.output_bytes_max, answer_ms, log, health
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: ({ skills }) => examine(skills)
})
