import { dirname, join } from 'node:path'
import { configHome, dataHome, type PluginContext } from '../../../kernel/index.ts'
import { confinedHelper } from '../helper-program.ts'
import { NetworkProxy } from '../../toolkit/network/proxy.ts'
import { ConfinedHelpers } from './confined-helpers.ts'
import { Confiner } from './confiner.ts'
import { RuleBook } from './rules.ts'
import { namesIn } from './secret-paths.ts'

/** @param helpers the most helper processes of each room */
export function createConfiner (
  { config, config_file, data_dir, log, health }: PluginContext,
  helpers: number
): Confiner {
  const program = confinedHelper()
  const book = new RuleBook(ownPaths(data_dir, config_file), [configHome(process.env)])
  const confined = program === undefined
    ? undefined
    : new ConfinedHelpers({ program, book, proxy: new NetworkProxy(), helpers, log, health })
  return new Confiner({ mode: config.isolation.mode, program, book, helpers: confined, log })
}

/** Files and folders of Skillet itself: its history, settings, keys and secrets, but not the user's skills. */
function ownPaths (data_dir: string, config_file: string | undefined): string[] {
  const home = configHome(process.env)
  const beside = config_file === undefined ? [] : [config_file, join(dirname(config_file), '.env')]
  return [
    data_dir,
    dataHome(process.env),
    ...namesIn(home).filter(name => name !== 'skills').map(name => join(home, name)),
    ...beside
  ]
}
