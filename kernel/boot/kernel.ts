import { dirname } from 'node:path'
import { Bus } from '../contracts/bus.ts'
import { Catalog } from '../skills/catalog.ts'
import type { Config } from '../contracts/config.ts'
import type { Endpoint } from '../contracts/endpoint.ts'
import type { Executor } from '../contracts/executor.ts'
import type { AnyPlugin, Finding, Slot, Slots } from '../contracts/plugin.ts'
import type { Search } from '../contracts/search.ts'
import type { SkillSource } from '../contracts/skill-source.ts'
import type { Storage } from '../contracts/storage.ts'
import type { Transport } from '../contracts/transport.ts'
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
import { Supervisor } from './supervisor.ts'
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
  /** Further files and folders of Skillet's own that no tool should read, absolute; `data_dir`, `config_file` and the `.env` beside that are known. */
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
 * Boots in two waves: the providers, then, when all services are there, endpoints and transports; so nothing listens before
 * it can answer. When a required plugin can't start, everything is undone.
 * @param signal aborts the start
 * @throws Error naming the plugin and the cause
 */
export async function createKernel ({ config, plugins, secrets = noSecrets, log, version, data_dir, config_file, private_paths = [], role, only, prepareSearch = false }: KernelOptions, signal: AbortSignal): Promise<Kernel> {
  const scope = new Scope()
  const bus = new Bus(log)
  const began_ms = performance.now()
  const supervisors = plugins.map(plugin => new Supervisor(plugin, bus, log))
  let states: readonly PluginStatus[] | undefined
  bus.on('plugin', () => { states = undefined })
  const plugin_states = (): readonly PluginStatus[] => states ??= Object.freeze(supervisors.map(supervisor => supervisor.status))
  const base = { config, log, data_dir, ...(config_file !== undefined && { config_file }) }
  try {
    refuseDuplicates(plugins)
    secureDataDirectory(data_dir, log)

    const executorNames: string[] = []
    const provided: Provided = { storage: [], search: [], executor: [], skills: [], endpoint: [], transport: [] }
    const start = async (...slots: Slot[]): Promise<void> => {
      for (const supervisor of supervisors) {
        if (!slots.includes(supervisor.plugin.slot)) continue
        const service = await supervisor.start({ ...base, ...(provided.storage[0] !== undefined && { cache: provided.storage[0].cache }) }, signal)
        if (service === undefined) continue
        keep(provided, supervisor.plugin.slot, service)
        if (supervisor.plugin.slot === 'executor') executorNames.push(supervisor.plugin.name)
      }
    }
    // Whatever starts first, the storage is stopped last.
    for (const slot of ['storage', 'skills', 'executor', 'search']) {
      for (const supervisor of supervisors) if (supervisor.plugin.slot === slot) scope.defer(() => supervisor.stop())
    }
    await start('skills', 'executor')
    const executors = byRuntime(provided.executor, executorNames)
    const catalog = new Catalog()
    const sync = new CatalogSync(catalog, provided.skills, bus, log)
    if (only !== undefined) {
      await sync.load(signal, only)
      prepare(catalog.skills.find(({ name }) => name === only), provided.executor)
    }
    await start('storage')
    await start('search') // which is given the storage's cache
    const storage = single('storage', provided.storage)
    const search = single('search', provided.search)
    if (role !== undefined) scope.defer(await claim(storage, role, data_dir, ''))
    if (only === undefined) await sync.load(signal)
    await sync.index(search)
    if (prepareSearch) search.prepare?.()
    if (plugins.some(({ slot }) => slot === 'transport')) {
      sync.follow()
      scope.defer(() => sync.close())
    }

    const executions = new Executions({ config, storage, executors, secrets, private_paths: ownPaths({ data_dir, config_file, private_paths }), bus, log })
    log.info({}, isolationNote)
    const recovery = new Recovery(executions, log)
    scope.defer(() => recovery.close())
    await recovery.start()
    scope.defer(executions.watchCancelRequests())

    const services = Object.freeze({
      config, version: Object.freeze({ ...version }), catalog, executions, storage, search,
      plugins: plugin_states,
      uptime_seconds: secondsSince(began_ms)
    })
    const gateway = createGateway(services, [...executors.values()], bus)

    // From here on, closing the scope runs, in this order: transports quiesce, executions drain, transports close.
    const { endpoint: endpoints, transport: transports } = provided
    const doors = new Scope()
    scope.defer(() => doors.close())
    scope.defer(() => executions.drain(config.execution.drain_ms))
    scope.defer(async () => {
      for (const transport of transports) await transport.quiesce?.()
      for (const endpoint of endpoints) endpoint.quiesce?.()
    })
    for (const slot of ['endpoint', 'transport'] as const) {
      for (const supervisor of supervisors) {
        if (supervisor.plugin.slot !== slot) continue
        doors.defer(() => supervisor.stop())
        const service = await supervisor.start({ ...base, gateway, endpoints }, signal)
        if (service !== undefined) keep(provided, slot, service)
      }
    }
    const urls = transports.flatMap(({ url }) => url ?? [])
    if (role !== undefined) await claim(storage, role, data_dir, urls.join(' '))
    const clients = transports.flatMap(({ ended }) => ended ?? [])
    return {
      gateway,
      plugins: plugin_states,
      urls,
      ended: Promise.race(clients),
      examine: (asked, signal) => examine({ plugins: plugin_states(), quarantined: catalog.quarantined, warnings: catalog.warnings, storage }, asked, { config, data_dir, skills: catalog.skills, signal }),
      stop: () => scope.close()
    }
  } catch (error) {
    await scope.close().catch((failure: unknown) => { log.error({ error: messageOf(failure) }, 'the start could not be undone') })
    throw error
  }
}

/** What no tool reads: the kernel's own files, and the memory and environment of processes. */
function ownPaths ({ data_dir, config_file, private_paths }: { data_dir: string, config_file: string | undefined, private_paths: readonly string[] }): string[] {
  const beside = config_file === undefined ? [] : [config_file, envFile(dirname(config_file))]
  return [data_dir, ...beside, ...private_paths, ...(process.platform === 'linux' ? ['/proc'] : [])]
}

/** Claims a role on the data directory, or tells others of the note. @returns what gives it back */
async function claim (storage: Storage, role: string, data_dir: string, note: string): Promise<() => Promise<void>> {
  const owner = thisProcess()
  const holder = await storage.claim(role, { owner, note }, isAlive)
  if (holder !== undefined) {
    throw new Error(`process ${holder.owner.pid} already serves the data directory ${data_dir}${holder.note === '' ? '' : ` at ${holder.note}`}; stop it first, or give this one another --data-dir`)
  }
  return () => storage.release(role, owner)
}

interface Provided { storage: Storage[], search: Search[], executor: Executor[], skills: SkillSource[], endpoint: Endpoint[], transport: Transport[] }

/** Lets the executors that a skill's tools need get ready. */
function prepare (skill: SkillDefinition | undefined, executors: readonly Executor[]): void {
  const runtimes = new Set(skill?.tools.map(tool => runtimeOf(skill, tool)))
  for (const executor of executors) if (runtimes.has(executor.runtime)) executor.prepare?.()
}

/** Files a service under its slot. A plugin's `setup` is typed to return what its slot asks for. */
function keep (provided: Provided, slot: keyof Slots, service: Slots[keyof Slots]): void {
  (provided[slot] as Slots[keyof Slots][]).push(service)
}

/** @param names of their plugins, in the same order @throws Error when two run one runtime */
function byRuntime (executors: readonly Executor[], names: readonly string[]): Map<string, Executor> {
  const found = new Map<string, Executor>()
  for (const [i, executor] of executors.entries()) {
    const other = found.get(executor.runtime)
    if (other !== undefined) {
      throw new Error(`the plugins "${names[executors.indexOf(other)]}" and "${names[i]}" both run the runtime "${executor.runtime}"; there can be one`)
    }
    found.set(executor.runtime, executor)
  }
  return found
}

function single<T> (slot: string, services: readonly T[]): T {
  const [service, ...others] = services
  if (service === undefined) throw new Error(`no plugin provides ${slot}`)
  if (others.length > 0) throw new Error(`${services.length} plugins provide ${slot}; there can be one`)
  return service
}

function refuseDuplicates (plugins: readonly AnyPlugin[]): void {
  const names = new Set<string>()
  for (const { name } of plugins) {
    if (names.has(name)) throw new Error(`two plugins are named "${name}"`)
    names.add(name)
  }
}
