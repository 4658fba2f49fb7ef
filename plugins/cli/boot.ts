import { dirname } from 'node:path'
import {
  configFile, configHome, createKernel, dataHome, definePlugin, loadConfig, loadPlugins, readEnvFile, readVersion, SecretFile, type AnyPlugin, type Config, type Kernel, type Logger, type Slot
} from '../../kernel/index.ts'
import type { Terminal } from './terminal/terminal.ts'

type Load = () => Promise<{ default: AnyPlugin }>

/** The plugins that the program comes with, loaded when a command needs them. */
export interface BuiltinPlugins {
  storage: Load
  /** Storage for commands that record nothing. */
  scratch: Load
  search: Load
  executors: readonly Load[]
  skills: readonly Load[]
  /** Serves one agent, on standard input and output. */
  agent: Load
  /** What servers serve beside the operations. */
  endpoints: readonly Load[]
  transports: readonly Load[]
}

/** All of them but the scratch storage, which takes no options. */
export async function everyPlugin ({ storage, search, executors, skills, agent, endpoints, transports }: BuiltinPlugins): Promise<AnyPlugin[]> {
  return await Promise.all([storage, search, ...executors, ...skills, agent, ...endpoints, ...transports].map(async load => (await load()).default))
}

/** What a command needs of the kernel. */
export interface Needs {
  /** Knows the skills. */
  skills: boolean
  /** Searches them. */
  search: boolean
  /** Records executions. */
  history: boolean
  /** Runs tools. */
  executors: boolean
  /** Serves an agent. */
  agent?: boolean
  /** Listens. */
  transports: boolean
}

/** For commands that look at skills. */
export const quick: Needs = { skills: true, search: false, history: false, executors: false, transports: false }
/** For commands that search skills. The storage keeps what is embedded. */
export const searching: Needs = { ...quick, search: true, history: true }
/** For commands that look at the history. */
export const looking: Needs = { skills: false, search: false, history: true, executors: false, transports: false }
/** For commands that run tools. */
export const recording: Needs = { skills: true, search: false, history: true, executors: true, transports: false }
/** For an agent of its own. */
export const speaking: Needs = { ...recording, search: true, agent: true }
export const serving: Needs = { skills: true, search: true, history: true, executors: true, transports: true }

/** Where nobody searches. */
const noSearch = definePlugin({ name: 'search-none', slot: 'search', setup: () => ({ async index () {}, search: async () => ({ mode: 'none', results: [] }) }) })

/** The command line or the configuration is wrong: the message says how. */
export class UsageError extends Error {}

export interface Given { file?: string, flags: Record<string, unknown> }

/** Reads the configuration. @throws UsageError */
export function configure (given: Given, { env, cwd }: Pick<Terminal, 'env' | 'cwd'>): Config {
  try {
    return loadConfig({ ...given, env, cwd })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** Boots the kernel for a command. The caller stops it. @throws Error naming the plugin that did not start */
export async function boot (builtin: BuiltinPlugins, config: Config, needs: Needs, terminal: Terminal, log: Logger, signal: AbortSignal, { role, only, file }: { role?: string, only?: string, file?: string } = {}): Promise<Kernel> {
  const config_file = configFile({ env: terminal.env, cwd: terminal.cwd, ...(file !== undefined && { file }) })
  // The key is no setting: who needs it reads the environment.
  const { SERVICE_API_KEY: key } = readEnvFile(dirname(config_file)).values
  if (needs.transports && key !== undefined) process.env['SERVICE_API_KEY'] ??= key
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
    loadPlugins(config.plugins, terminal.cwd)
  ])
  const isNeeded: Record<Slot, boolean> = { storage: needs.history, search: needs.search, skills: needs.skills, executor: needs.executors, endpoint: needs.transports, transport: needs.transports }
  const wanted = further.filter(({ slot }) => isNeeded[slot])
  // Of these slots there is one: a further plugin takes the place of ours.
  const replaced = new Set<string>(wanted.map(({ slot }) => slot).filter(slot => slot === 'storage' || slot === 'search'))
  return await createKernel({
    config,
    plugins: [...own.filter(({ slot }) => !replaced.has(slot)), ...wanted, ...(needs.search ? [] : [noSearch])],
    secrets: new SecretFile(configHome(terminal.env), terminal.env),
    log,
    version: readVersion(),
    data_dir: config.data_dir === '' ? dataHome(terminal.env) : config.data_dir,
    config_file,
    private_paths: [configHome(terminal.env), dataHome(terminal.env)],
    ...(role !== undefined && { role }),
    // An agent begins by a search, and asks once: it should not be answered by words alone.
    prepareSearch: needs.agent === true,
    ...(only !== undefined && { only })
  }, signal)
}
