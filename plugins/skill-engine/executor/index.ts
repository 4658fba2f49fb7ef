import { definePlugin } from '../../../kernel/index.ts'
import { examine } from './examine.ts'
import { EngineExecutor } from './executor.ts'

/** Runs the tools of the Skill Engine's skills by the executors of scripts and of commands. */
export default definePlugin({
  name: 'skill-engine-executor',
  slot: 'executor',
  setup: () => new EngineExecutor(),
  examine: async ({ skills }) => await examine(skills)
})
