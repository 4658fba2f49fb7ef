import { dirname } from 'node:path'
import { Bus } from '../contracts/bus.ts'
import { Catalog } from '../skills/catalog.ts'
import type { Config } from '../contracts/config.ts'
import type { Outputs } from '../contracts/outputs.ts'
import type { AnyPlugin, Finding } from '../contracts/plugin.ts'
import type { Search } from '../contracts/search.ts'
import type { Storage } from '../contracts/storage.ts'
import { secureDataDirectory } from './data-directory.ts'
import { envFile } from '../lib/env-file.ts'
import { messageOf } from '../lib/errors.ts'
import { examine, isolationNote } from './examine.ts'
import { Executions } from '../executions/executions.ts'
import { OutputFiles } from '../executions/output-files.ts'
import { openOutputs } from '../executions/outputs.ts'
import { CatalogSync } from '../skills/catalog-sync.ts'
import type { Gateway } from '../contracts/gateway.ts'
import { createGateway } from '../operations/gateway.ts'
import { jobOfRecord } from '../operations/recorded-jobs.ts'
import type { Logger } from '../lib/log.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import { Recovery } from '../executions/recovery.ts'
import type { PluginStatus } from '../contracts/status.ts'
import { Scope } from '../lib/scope.ts'
import { noSecrets, type Secrets } from '../secrets/secrets.ts'
import { claim } from './claim.ts'
import { prepare, Providers, refuseDuplicates } from './providers.ts'
import { serverOf } from './server-of.ts'
import { secondsSince } from '../lib/time.ts'
import type { Version } from '../lib/version.ts'

export interface KernelOptions {
  config: Config
  /** The plugins in the order of their start: one storage, one search, and any number of all other slots. */
  plugins: readonly AnyPlugin[]
  /** The secrets for skills that declare them in `permissions.secrets`. Default: no secrets are set. */
  secrets?: Secrets
  log: Logger
  version: Version
  /** Absolute path of the data directory, which is created if it is missing. */
  data_dir: string
  /** Path of the configuration file, which may be missing; for plugins that react to its changes. */
  config_file?: string
  /**
   * Absolute paths of further files and folders of Skillet that no tool should read. The kernel adds `data_dir`,
   * `config_file` and the `.env` beside `config_file` itself.
   */
  private_paths?: readonly string[]
  /** The role that this process claims on the data directory, such as `serve`. Only one process can hold a role. */
  role?: string
  /** Whether the search gets ready at the start, and not at the first search. Default false. */
  prepareSearch?: boolean
  /**
   * How long a search may wait while the model is loaded or embeds tools, in milliseconds; then it answers by words
   * alone. Default 0.
   */
  search_patience_ms?: number
  /** Name of the only skill that a short command needs: the kernel then need not load all other skills. */
  only?: string
}

export interface Kernel {
  readonly gateway: Gateway
  readonly plugins: () => readonly PluginStatus[]
  /** The definitions of the skills, sorted by name: for commands of the user, never for callers. */
  readonly skills: () => readonly SkillDefinition[]
  /** The records of all executions: for commands of the user, never for callers. */
  readonly history: Pick<Storage, 'records' | 'get' | 'save' | 'commit'>
  /** The URLs of the transports. */
  readonly urls: readonly string[]
  /** The URLs of the server that holds the role `serve` on the same data directory; none where no server runs. */
  server (): Promise<readonly string[]>
  /** Returns findings about the kernel and about the environment of the given plugins, which may be not started. */
  examine (plugins: readonly AnyPlugin[], signal: AbortSignal): Promise<Finding[]>
  /** Resolves when a transport with a single client has lost that client; never when clients come and go. */
  readonly ended: Promise<void>
  /**
   * Stops the kernel in this order: transports accept no new requests, executions drain, transports close, providers
   * close. Idempotent.
   */
  stop (): Promise<void>
}

/**
 * Starts the kernel in two phases: first the providers, then, when all services are available, endpoints and
 * transports. So no transport listens before it can answer. When a required plugin can't start, the kernel stops all
 * plugins that it has started.
 * @param signal aborts the start
 * @throws Error with the name of the plugin and the cause
 */
export async function createKernel (options: KernelOptions, signal: AbortSignal): Promise<Kernel> {
  const boot = new Boot(options, signal)
  try {
    return await boot.run()
  } catch (error) {
    await boot.undo()
    throw error
  }
}

/** One start of the kernel. The parts of the kernel are stopped in the reverse order of their start. */
class Boot {
  readonly #options: KernelOptions
  readonly #signal: AbortSignal
  readonly #scope = new Scope()
  readonly #bus: Bus
  readonly #providers: Providers
  readonly #uptime_seconds = secondsSince(performance.now())
  readonly #catalog = new Catalog()

  constructor (options: KernelOptions, signal: AbortSignal) {
    const { config, config_file, data_dir, log, plugins } = options
    this.#options = options
    this.#signal = signal
    this.#bus = new Bus(log)
    const context = { config, log, data_dir, ...(config_file !== undefined && { config_file }) }
    this.#providers = new Providers(plugins, context, this.#bus, signal)
  }

  async run (): Promise<Kernel> {
    const { config, data_dir, log, version, search_patience_ms = 0 } = this.#options
    refuseDuplicates(this.#options.plugins)
    secureDataDirectory(data_dir, log)
    const { storage, search } = await this.#startProviders()
    const files = new OutputFiles(config, storage, data_dir, log)
    const outputs = openOutputs(storage, files, this.#scope)
    const executions = await this.#startExecutions(storage, files, outputs)
    const { states, executors, services: { transport: transports } } = this.#providers
    const services = Object.freeze({
      config, version: Object.freeze({ ...version }), catalog: this.#catalog, executions, live: executions.live,
      outputs, storage, search,
      search_patience_ms,
      plugins: states,
      uptime_seconds: this.#uptime_seconds
    })
    const gateway = createGateway(services, [...executors.values()], this.#bus)
    await this.#startTransports(gateway, executions)
    if (transports.length > 0) {
      this.#scope.defer(this.#followSkills(executions))
      this.#scope.defer(files.start())
    }
    const urls = transports.flatMap(({ url }) => url ?? [])
    const { role } = this.#options
    if (role !== undefined) await claim(storage, role, data_dir, urls.join(' '))
    return {
      gateway,
      plugins: states,
      skills: () => this.#catalog.skills,
      history: storage,
      urls,
      server: () => serverOf(storage),
      ended: Promise.race(transports.flatMap(({ ended }) => ended ?? [])),
      examine: (plugins, signal) => this.#examine(storage, plugins, signal),
      stop: () => this.#scope.close()
    }
  }

  /** Stops all parts that a failed start has started. */
  async undo (): Promise<void> {
    await this.#scope.close().catch((failure: unknown) => {
      this.#options.log.error({ error: messageOf(failure) }, 'the start could not be undone')
    })
  }

  /** Starts storage, search, executors and sources of skills, and loads the skills. */
  async #startProviders (): Promise<{ storage: Storage, search: Search }> {
    const { config, only, role, data_dir, log, plugins, prepareSearch = false } = this.#options
    const providers = this.#providers
    // The storage is stopped last, whatever the order of the start.
    for (const slot of ['storage', 'skills', 'executor', 'search'] as const) providers.stopWith(this.#scope, slot)
    await providers.start('skills', 'executor')
    const sync = new CatalogSync(this.#catalog, providers.services.skills, config, this.#bus, log)
    if (only !== undefined) {
      await sync.load(this.#signal, only)
      prepare(this.#catalog.skills.find(({ name }) => name === only), providers.services.executor)
    }
    await providers.start('storage')
    await providers.start('search') // its context contains the cache of the storage
    const { storage, search } = providers
    if (role !== undefined) this.#scope.defer(await claim(storage, role, data_dir, ''))
    if (only === undefined) await sync.load(this.#signal)
    await sync.index(search)
    if (prepareSearch) search.prepare?.()
    if (plugins.some(({ slot }) => slot === 'transport')) {
      sync.follow()
      this.#scope.defer(() => sync.close())
    }
    return { storage, search }
  }

  /** Creates the runner of executions, and closes the executions whose process died. */
  async #startExecutions (storage: Storage, files: OutputFiles, outputs: Outputs): Promise<Executions> {
    const { config, secrets = noSecrets, log } = this.#options
    const { executors } = this.#providers
    const private_paths = ownPaths(this.#options)
    const own = { bus: this.#bus, log, files }
    const executions = new Executions({ config, storage, executors, secrets, private_paths, ...own })
    log.info({}, isolationNote(config))
    // A server also starts what others stored, or could not start before they ended.
    if (this.#options.role !== undefined) {
      executions.adoptWith(record => jobOfRecord({ catalog: this.#catalog, config, outputs }, record))
    }
    const recovery = new Recovery(executions, log)
    this.#scope.defer(() => recovery.close())
    await recovery.start()
    this.#scope.defer(executions.watchCancelRequests())
    return executions
  }

  /** Tells executors which skills they may have to run, until the returned function is called. */
  #followSkills ({ secretsOf }: Executions): () => void {
    const tell = (): void => {
      for (const [runtime, executor] of this.#providers.executors) {
        executor.follow?.(this.#catalog.definitionsFor(runtime), secretsOf)
      }
    }
    tell()
    return this.#bus.on('skills', tell)
  }

  /**
   * Starts endpoints and transports. The stop of the kernel begins with them: they quiesce, the executions drain, and
   * then they close.
   */
  async #startTransports (gateway: Gateway, executions: Executions): Promise<void> {
    const { endpoint: endpoints, transport: transports } = this.#providers.services
    const entrances = new Scope()
    this.#scope.defer(() => entrances.close())
    this.#scope.defer(() => executions.drain(this.#options.config.execution.drain_ms))
    this.#scope.defer(async () => {
      for (const transport of transports) await transport.quiesce?.()
      for (const endpoint of endpoints) endpoint.quiesce?.()
    })
    await this.#providers.startEntrances(entrances, gateway)
  }

  #examine (storage: Storage, plugins: readonly AnyPlugin[], signal: AbortSignal): Promise<Finding[]> {
    const { config, data_dir } = this.#options
    const { skills, quarantined, warnings } = this.#catalog
    const systemState = { plugins: this.#providers.states(), quarantined, warnings, storage }
    return examine(systemState, plugins, { config, data_dir, skills, signal })
  }
}

/** The paths that no tool may read: the kernel's own files, and (on Linux) memory and environment of processes. */
function ownPaths ({ data_dir, config_file, private_paths = [] }: KernelOptions): string[] {
  const beside = config_file === undefined ? [] : [config_file, envFile(dirname(config_file))]
  return [data_dir, ...beside, ...private_paths, ...(process.platform === 'linux' ? ['/proc'] : [])]
}
