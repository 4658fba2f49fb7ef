import { availableParallelism } from 'node:os'
import { collectedBytesMax, definePlugin } from '../../kernel/index.ts'
import { examine } from './examine.ts'
import { NativeExecutor } from './executor.ts'
import { compiledHelper } from './helper-program.ts'
import { createConfiner } from './sandbox/create-confiner.ts'
import { examineSandbox } from './sandbox/examine.ts'
import { declared, executionSection } from './settings.ts'

/**
 * The time limit of a helper's answer, in milliseconds: many times as long as a busy machine needs to start a process.
 */
const answer_ms = 15_000

/** Runs native skills: commands, given as argument vectors, each in a process group of its own. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup (context, { helpers: configured, helper }) {
    const { config, scope, log, health } = context
    const helpers = configured || Math.min(8, availableParallelism())
    const confiner = createConfiner(context, helpers)
    scope.defer(() => confiner.close())
    confiner.probeSoon()
    const executor = new NativeExecutor({
      processes: executionSection.of(config).processes || 4 * availableParallelism(),
      helpers,
      compiled: helper === 'node' ? undefined : compiledHelper(),
      confiner,
      directory: process.cwd(),
      outputBytesMax: collectedBytesMax(config),
      liveBytesMax: config.execution.output_bytes_max,
      answer_ms, log, health
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: async ({ skills, config }) => [...await examineSandbox(config.isolation), ...await examine(skills)]
})
