import type { Bus } from '../contracts/bus.ts'
import type { Endpoint } from '../contracts/endpoint.ts'
import type { Executor } from '../contracts/executor.ts'
import type { Gateway } from '../contracts/gateway.ts'
import type { AnyPlugin, PluginContext, Slot, Slots } from '../contracts/plugin.ts'
import type { PluginStatus } from '../contracts/status.ts'
import { runtimeOf, type SkillDefinition } from '../contracts/skill.ts'
import type { Search } from '../contracts/search.ts'
import type { SkillSource } from '../contracts/skill-source.ts'
import type { Storage } from '../contracts/storage.ts'
import type { Transport } from '../contracts/transport.ts'
import type { Scope } from '../lib/scope.ts'
import { Supervisor } from './supervisor.ts'

interface Services {
  storage: Storage[]
  search: Search[]
  executor: Executor[]
  skills: SkillSource[]
  endpoint: Endpoint[]
  transport: Transport[]
}

/** Starts plugins, slot by slot, and holds the services that they provide. */
export class Providers {
  /** The services by slot, in the order of their start. */
  readonly services: Services = { storage: [], search: [], executor: [], skills: [], endpoint: [], transport: [] }
  readonly #supervisors: readonly Supervisor[]
  readonly #context: Pick<PluginContext, 'config' | 'config_file' | 'log' | 'data_dir'>
  readonly #signal: AbortSignal
  /** Names of the plugins that provide executors, in the order of the executors. */
  readonly #executorNames: string[] = []
  #states: readonly PluginStatus[] | undefined

  /** @param signal aborts the start */
  constructor (
    plugins: readonly AnyPlugin[],
    context: Pick<PluginContext, 'config' | 'config_file' | 'log' | 'data_dir'>,
    bus: Bus,
    signal: AbortSignal
  ) {
    this.#supervisors = plugins.map(plugin => new Supervisor(plugin, bus, context.log))
    this.#context = context
    this.#signal = signal
    bus.on('plugin', () => { this.#states = undefined })
  }

  /** The states of all plugins: the same list object until a state changes. */
  readonly states = (): readonly PluginStatus[] => {
    this.#states ??= Object.freeze(this.#supervisors.map(supervisor => supervisor.status))
    return this.#states
  }

  /** The storage. @throws Error when there is no storage, or more than one storage */
  get storage (): Storage {
    return single('storage', this.services.storage)
  }

  /** The search. @throws Error when there is no search, or more than one search */
  get search (): Search {
    return single('search', this.services.search)
  }

  /** The executors, by runtime. @throws Error with the names of two plugins that run the same runtime */
  get executors (): Map<string, Executor> {
    return byRuntime(this.services.executor, this.#executorNames)
  }

  /** Stops the plugins of a slot when the scope closes. */
  stopWith (scope: Scope, slot: Slot): void {
    for (const supervisor of this.#of(slot)) scope.defer(() => supervisor.stop())
  }

  /** Starts the plugins of these slots, in the order of the plugins. */
  async start (...slots: Slot[]): Promise<void> {
    for (const supervisor of this.#supervisors) {
      const { slot, name } = supervisor.plugin
      if (!slots.includes(slot)) continue
      const [storage] = this.services.storage
      const service = await supervisor.start(
        { ...this.#context, ...(storage !== undefined && { cache: storage.cache }) },
        this.#signal
      )
      if (service === undefined) continue
      this.#keep(slot, service)
      if (slot === 'executor') this.#executorNames.push(name)
    }
    if (!slots.includes('executor')) return
    const executors = this.executors // refuses duplicate runtimes
    for (const executor of executors.values()) executor.connect?.(executors)
  }

  /** Starts endpoints, then transports, which receive the endpoints. All of them stop when the scope closes. */
  async startEntrances (scope: Scope, gateway: Gateway): Promise<void> {
    for (const slot of ['endpoint', 'transport'] as const) {
      for (const supervisor of this.#of(slot)) {
        scope.defer(() => supervisor.stop())
        const context = { ...this.#context, gateway, endpoints: this.services.endpoint }
        const service = await supervisor.start(context, this.#signal)
        if (service !== undefined) this.#keep(slot, service)
      }
    }
  }

  #of (slot: Slot): Supervisor[] {
    return this.#supervisors.filter(({ plugin }) => plugin.slot === slot)
  }

  /** Stores a service under its slot. The type of a plugin's `setup` guarantees that the service fits its slot. */
  #keep (slot: keyof Slots, service: Slots[keyof Slots]): void {
    const services = this.services[slot] as Slots[keyof Slots][]
    services.push(service)
  }
}

/** @param names the names of their plugins, in the same order @throws Error when two plugins run the same runtime */
function byRuntime (executors: readonly Executor[], names: readonly string[]): Map<string, Executor> {
  const executorOf = new Map<string, Executor>()
  for (const [i, executor] of executors.entries()) {
    const other = executorOf.get(executor.runtime)
    if (other !== undefined) {
      const both = `"${names[executors.indexOf(other)]}" and "${names[i]}"`
      throw new Error(`the plugins ${both} both run the runtime "${executor.runtime}"; there can be one`)
    }
    executorOf.set(executor.runtime, executor)
  }
  return executorOf
}

function single<T> (slot: string, services: readonly T[]): T {
  const [service, ...others] = services
  if (service === undefined) throw new Error(`no plugin provides ${slot}`)
  if (others.length > 0) throw new Error(`${services.length} plugins provide ${slot}; there can be one`)
  return service
}

/** @throws Error when two plugins have the same name */
export function refuseDuplicates (plugins: readonly AnyPlugin[]): void {
  const names = new Set<string>()
  for (const { name } of plugins) {
    if (names.has(name)) throw new Error(`two plugins are named "${name}"`)
    names.add(name)
  }
}

/** Prepares the executors that the tools of a skill need. */
export function prepare (skill: SkillDefinition | undefined, executors: readonly Executor[]): void {
  const runtimes = new Set(skill?.tools.map(tool => runtimeOf(skill, tool)))
  for (const executor of executors) if (runtimes.has(executor.runtime)) executor.prepare?.()
}
