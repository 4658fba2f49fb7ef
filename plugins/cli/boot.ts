import { dirname } from 'node:path'
import {
  configFile, configHome, createKernel, dataHome, definePlugin, loadConfig, loadPlugins, readEnvFile, readVersion,
  SecretFile, type AnyPlugin, type Config, type ConfigSchema, type Kernel, type Logger, type Section, type Slot
} from '../../kernel/index.ts'
import type { SettingFlags } from './options/options.ts'
import type { Terminal } from './terminal/terminal.ts'

type Load = () => Promise<{ default: AnyPlugin }>

/** The built-in plugins, loaded when a command needs them. */
export interface BuiltinPlugins {
  storage: Load
  /** The storage for commands that record nothing. */
  scratch: Load
  search: Load
  executors: readonly Load[]
  skills: readonly Load[]
  /** The plugin that serves one agent, on standard input and output. */
  agent: Load
  /** The plugins that servers serve beside the operations. */
  endpoints: readonly Load[]
  transports: readonly Load[]
  /** The sections of the configuration that these plugins declare. */
  sections: () => Promise<{ builtinSections: readonly Section[] }>
}

/** All built-in plugins except the scratch storage, which has no options. */
export async function everyPlugin (
  { storage, search, executors, skills, agent, endpoints, transports }: Omit<BuiltinPlugins, 'sections'>
): Promise<AnyPlugin[]> {
  return await Promise.all([storage, search, ...executors, ...skills, agent, ...endpoints, ...transports].map(
    async load => (await load()).default
  ))
}

/**
 * How long a search of the command line waits while the model is loaded or embeds tools, in milliseconds. A command
 * makes one search and ends, so it has no later search that could use the loaded model.
 */
const search_patience_ms = 10_000

/** The parts of the kernel that a command needs. */
export interface Needs {
  /** Whether it reads the skills. */
  skills: boolean
  /** Whether it searches skills. */
  search: boolean
  /** Whether it records executions. */
  history: boolean
  /** Whether it runs tools. */
  executors: boolean
  /** Whether it serves an agent. */
  agent?: boolean
  /** Whether it listens for requests. */
  transports: boolean
}

/** For commands that read skills. */
export const quick: Needs = { skills: true, search: false, history: false, executors: false, transports: false }
/** For commands that search skills. The storage caches the embeddings. */
export const searching: Needs = { ...quick, search: true, history: true }
/** For commands that read the history. */
export const looking: Needs = { skills: false, search: false, history: true, executors: false, transports: false }
/** For commands that run tools. */
export const recording: Needs = { skills: true, search: false, history: true, executors: true, transports: false }
/** For a command that serves an agent. */
export const speaking: Needs = { ...recording, search: true, agent: true }
export const serving: Needs = { skills: true, search: true, history: true, executors: true, transports: true }

/** Takes the place of the search in commands that do not search. */
const noSearch = definePlugin({
  name: 'search-none',
  slot: 'search',
  setup: () => ({ async index () {}, search: async () => ({ mode: 'none', results: [] }) })
})

/** An error in the command line or the configuration; the message describes it. */
export class UsageError extends Error {}

/** The parts of the command's context that its configuration depends on. */
interface ConfigSources { terminal: Pick<Terminal, 'env' | 'cwd'>, schema: ConfigSchema }

/** Reads the configuration. @throws UsageError */
export function configure (settingFlags: SettingFlags, { terminal: { env, cwd }, schema }: ConfigSources): Config {
  try {
    return loadConfig({ ...settingFlags, env, cwd }, schema)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** The absolute path of the data directory. */
export function dataDirectory ({ data_dir }: Config, { env }: Pick<Terminal, 'env'>): string {
  return data_dir === '' ? dataHome(env) : data_dir
}

/** Boots the kernel for a command. The caller stops it. @throws Error naming the plugin that did not start */
export async function boot (
  builtin: BuiltinPlugins,
  config: Config,
  needs: Needs,
  terminal: Terminal,
  log: Logger,
  signal: AbortSignal,
  { role, only, file }: { role?: string, only?: string, file?: string } = {}
): Promise<Kernel> {
  const config_file = configFile({ env: terminal.env, cwd: terminal.cwd, ...(file !== undefined && { file }) })
  // The key is not a setting: a plugin that needs it reads the environment.
  const { SERVICE_API_KEY: key } = readEnvFile(dirname(config_file)).values
  if (needs.transports && key !== undefined) process.env['SERVICE_API_KEY'] ??= key
  return await createKernel({
    config,
    plugins: await pluginsFor(builtin, config, needs, terminal),
    secrets: new SecretFile(configHome(terminal.env), terminal.env),
    log,
    version: readVersion(),
    data_dir: dataDirectory(config, terminal),
    config_file,
    private_paths: [configHome(terminal.env), dataHome(terminal.env)],
    ...(role !== undefined && { role }),
    // An agent begins with a single search, which should not be answered by keywords alone.
    prepareSearch: needs.agent === true,
    ...(needs.transports || needs.agent === true ? {} : { search_patience_ms }),
    ...(only !== undefined && { only })
  }, signal)
}

/** The plugins that a command needs: built-in ones, and the further ones that the configuration names. */
async function pluginsFor (
  builtin: BuiltinPlugins, config: Config, needs: Needs, { cwd }: Terminal
): Promise<AnyPlugin[]> {
  const loads = [
    needs.history ? builtin.storage : builtin.scratch,
    ...(needs.search ? [builtin.search] : []),
    ...(needs.skills ? builtin.skills : []),
    ...(needs.executors ? builtin.executors : []),
    ...(needs.agent === true ? [builtin.agent] : []),
    ...(needs.transports ? [...builtin.endpoints, ...builtin.transports] : [])
  ]
  const [own, further] = await Promise.all([
    Promise.all(loads.map(async load => (await load()).default)),
    loadPlugins(config.plugins, cwd)
  ])
  const isNeeded: Record<Slot, boolean> = {
    storage: needs.history, search: needs.search, skills: needs.skills, executor: needs.executors,
    endpoint: needs.transports, transport: needs.transports
  }
  const wanted = further.filter(({ slot }) => isNeeded[slot])
  // Each of these slots has only one plugin: another plugin takes the place of the built-in one.
  const replaced =
    new Set<string>(wanted.map(({ slot }) => slot).filter(slot => slot === 'storage' || slot === 'search'))
  return [...own.filter(({ slot }) => !replaced.has(slot)), ...wanted, ...(needs.search ? [] : [noSearch])]
}
