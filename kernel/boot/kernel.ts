import { dirname } from 'node:path'
import { Bus } from '../contracts/bus.ts'
import { Catalog } from '../skills/catalog.ts'
import type { Config } from '../contracts/config.ts'
import type { Executor } from '../contracts/executor.ts'
import type { AnyPlugin, Finding } from '../contracts/plugin.ts'
import type { Search } from '../contracts/search.ts'
import type { Storage } from '../contracts/storage.ts'
import { secureDataDirectory } from './data-directory.ts'
import { envFile } from '../lib/env-file.ts'
import { messageOf } from '../lib/errors.ts'
import { examine, isolationNote } from './examine.ts'
import { Executions } from '../executions/executions.ts'
import { CatalogSync } from '../skills/catalog-sync.ts'
import type { Gateway } from '../contracts/gateway.ts'
import { createGateway } from '../operations/gateway.ts'
import type { Logger } from '../lib/log.ts'
import { runtimeOf, type SkillDefinition } from '../contracts/skill.ts'
import { isAlive, thisProcess } from '../lib/process-identity.ts'
import { Recovery } from '../executions/recovery.ts'
import type { PluginStatus } from '../contracts/schemas.ts'
import { Scope } from '../lib/scope.ts'
import { noSecrets, type Secrets } from '../secrets/secrets.ts'
import { Providers, refuseDuplicates } from './providers.ts'
import { secondsSince } from '../lib/time.ts'
import type { Version } from '../lib/version.ts'

export interface KernelOptions {
  config: Config
  /** In the order they start. One storage, one search, and any number of the rest. */
  plugins: readonly AnyPlugin[]
  /** What skills are given of what they declare in `permissions.secrets`. Default: none are set. */
  secrets?: Secrets
  log: Logger
  version: Version
  /** Absolute; made when it is not there. */
  data_dir: string
  /** Where the configuration stands, or would; for plugins that follow its changes. */
  config_file?: string
  /**
   * Further files and folders of Skillet's own that no tool should read, absolute; `data_dir`, `config_file` and the
   * `.env` beside that are known.
   */
  private_paths?: readonly string[]
  /** A role that one process at a time may have on the data directory, such as `serve`. */
  role?: string
  /** Searches will come soon, so the search gets ready at the start and not at the first of them. Default false. */
  prepareSearch?: boolean
  /** The one skill that is asked for, by a command that runs a tool and ends: others need not be loaded. */
  only?: string
}

export interface Kernel {
  readonly gateway: Gateway
  readonly plugins: () => readonly PluginStatus[]
  /** Where the transports can be reached. */
  readonly urls: readonly string[]
  /** What is wrong, or worth knowing, here and in the surroundings of these plugins, which need not be started. */
  examine (plugins: readonly AnyPlugin[], signal: AbortSignal): Promise<Finding[]>
  /** Resolves when a transport has lost the only client it was made for; never where clients come and go. */
  readonly ended: Promise<void>
  /** Stops in order: transports accept nothing new, executions drain, transports close, providers close. Idempotent. */
  stop (): Promise<void>
}

/**
 * Boots in two waves: the providers, then, when all services are there, endpoints and transports; so nothing listens
 * before it can answer. When a required plugin can't start, everything is undone.
 * @param signal aborts the start
 * @throws Error naming the plugin and the cause
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

/** One start of the kernel. What it starts is stopped in the opposite order. */
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
    const { config, data_dir, log, version } = this.#options
    refuseDuplicates(this.#options.plugins)
    secureDataDirectory(data_dir, log)
    const { storage, search } = await this.#startProviders()
    const executions = await this.#startExecutions(storage)
    const { states, executors, services: { transport: transports } } = this.#providers
    const services = Object.freeze({
      config, version: Object.freeze({ ...version }), catalog: this.#catalog, executions, storage, search,
      plugins: states,
      uptime_seconds: this.#uptime_seconds
    })
    const gateway = createGateway(services, [...executors.values()], this.#bus)
    await this.#startTransports(gateway, executions)
    const urls = transports.flatMap(({ url }) => url ?? [])
    const { role } = this.#options
    if (role !== undefined) await claim(storage, role, data_dir, urls.join(' '))
    return {
      gateway,
      plugins: states,
      urls,
      ended: Promise.race(transports.flatMap(({ ended }) => ended ?? [])),
      examine: (plugins, signal) => this.#examine(storage, plugins, signal),
      stop: () => this.#scope.close()
    }
  }

  /** Undoes a start that failed. */
  async undo (): Promise<void> {
    await this.#scope.close().catch((failure: unknown) => {
      this.#options.log.error({ error: messageOf(failure) }, 'the start could not be undone')
    })
  }

  /** Starts storage, search, executors and sources of skills, and loads the skills. */
  async #startProviders (): Promise<{ storage: Storage, search: Search }> {
    const { only, role, data_dir, log, plugins, prepareSearch = false } = this.#options
    const providers = this.#providers
    // Whatever starts first, the storage is stopped last.
    for (const slot of ['storage', 'skills', 'executor', 'search'] as const) providers.stopWith(this.#scope, slot)
    await providers.start('skills', 'executor')
    const sync = new CatalogSync(this.#catalog, providers.services.skills, this.#bus, log)
    if (only !== undefined) {
      await sync.load(this.#signal, only)
      prepare(this.#catalog.skills.find(({ name }) => name === only), providers.services.executor)
    }
    await providers.start('storage')
    await providers.start('search') // whose context has the storage's cache
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

  /** Makes what runs executions, and closes those whose process died. */
  async #startExecutions (storage: Storage): Promise<Executions> {
    const { config, secrets = noSecrets, log } = this.#options
    const { executors } = this.#providers
    const private_paths = ownPaths(this.#options)
    const executions = new Executions({ config, storage, executors, secrets, private_paths, bus: this.#bus, log })
    log.info({}, isolationNote)
    const recovery = new Recovery(executions, log)
    this.#scope.defer(() => recovery.close())
    await recovery.start()
    this.#scope.defer(executions.watchCancelRequests())
    return executions
  }

  /** Starts endpoints and transports. Stopping begins with them: they quiesce, executions drain, they close. */
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
    const known = { plugins: this.#providers.states(), quarantined, warnings, storage }
    return examine(known, plugins, { config, data_dir, skills, signal })
  }
}

/** What no tool reads: the kernel's own files, and the memory and environment of processes. */
function ownPaths ({ data_dir, config_file, private_paths = [] }: KernelOptions): string[] {
  const beside = config_file === undefined ? [] : [config_file, envFile(dirname(config_file))]
  return [data_dir, ...beside, ...private_paths, ...(process.platform === 'linux' ? ['/proc'] : [])]
}

/** Claims a role on the data directory, or tells others of the note. @returns what gives it back */
async function claim (storage: Storage, role: string, data_dir: string, note: string): Promise<() => Promise<void>> {
  const owner = thisProcess()
  const holder = await storage.claim(role, { owner, note }, isAlive)
  if (holder !== undefined) {
    const place = holder.note === '' ? '' : ` at ${holder.note}`
    const remedy = 'stop it first, or give this one another --data-dir'
    throw new Error(`process ${holder.owner.pid} already serves the data directory ${data_dir}${place}; ${remedy}`)
  }
  return () => storage.release(role, owner)
}

/** Lets the executors that a skill's tools need get ready. */
function prepare (skill: SkillDefinition | undefined, executors: readonly Executor[]): void {
  const runtimes = new Set(skill?.tools.map(tool => runtimeOf(skill, tool)))
  for (const executor of executors) if (runtimes.has(executor.runtime)) executor.prepare?.()
}
