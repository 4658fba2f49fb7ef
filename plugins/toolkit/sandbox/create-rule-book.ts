import { dirname, join } from 'node:path'
import { configHome, dataHome, type PluginContext } from '../../../kernel/index.ts'
import { RuleBook } from './rules.ts'
import { namesIn } from './secret-paths.ts'

/** The rules of a server: what is its own is secret. */
export function createRuleBook ({ data_dir, config_file }: Pick<PluginContext, 'data_dir' | 'config_file'>): RuleBook {
  return new RuleBook(ownPaths(data_dir, config_file), [configHome(process.env)])
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
