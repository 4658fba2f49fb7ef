import type { PluginContext } from '../../../kernel/index.ts'
import { createRuleBook } from '../../toolkit/sandbox/create-rule-book.ts'
import { confinedHelper } from '../helper-program.ts'
import { NetworkProxy } from '../../toolkit/network/proxy.ts'
import { ConfinedHelpers } from './confined-helpers.ts'
import { Confiner } from './confiner.ts'
import { tryLevels } from './try-levels.ts'
import type { Lacking } from '../../toolkit/sandbox/levels.ts'

/** @param helpers the most helper processes of each room */
export function createConfiner (context: PluginContext, helpers: number): Confiner {
  const { config, log, health } = context
  const program = confinedHelper()
  const book = createRuleBook(context)
  const confined = program === undefined
    ? undefined
    : new ConfinedHelpers({ program, book, proxy: new NetworkProxy(), helpers, log, health })
  const probe = (): Promise<Lacking> => tryLevels(program)
  return new Confiner({ isolation: config.isolation, probe, book, helpers: confined, log, health })
}
