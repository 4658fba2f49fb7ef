import { definePlugin } from '../../kernel/index.ts'
import { createRuleBook } from '../toolkit/sandbox/create-rule-book.ts'
import { EngineFinder } from './engine.ts'
import { examine } from './examine.ts'
import { ContainerExecutor } from './executor.ts'
import { Leftovers } from './leftovers.ts'
import { Remover } from './remover.ts'
import { declared } from './settings.ts'

/** Runs tools in containers of the user's docker or podman: skills with `runtime = "container"`. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup (context, { engine, engine_options, run_options }) {
    const { config, scope, log, data_dir } = context
    const remover = new Remover(log)
    const executor = new ContainerExecutor({
      finder: new EngineFinder(engine, engine_options),
      remover,
      leftovers: new Leftovers(data_dir, remover, log),
      createBook: () => createRuleBook(context),
      runOptions: run_options,
      isolation: config.isolation
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: async ({ config, skills, signal }) => await examine(skills, config.plugin[declared.name] ?? {}, signal)
})
