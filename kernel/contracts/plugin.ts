import type { Static, TObject } from 'typebox'
import type { Logger } from '../lib/log.ts'
import type { Scope } from '../lib/scope.ts'
import type { Config } from './config.ts'
import type { Endpoint } from './endpoint.ts'
import type { Executor } from './executor.ts'
import type { Gateway } from './gateway.ts'
import type { HistoryCare } from './history-care.ts'
import type { Search } from './search.ts'
import type { Section } from './section.ts'
import type { SkillDefinition } from './skill.ts'
import type { SkillSource } from './skill-source.ts'
import type { Cache, Storage } from './storage.ts'
import type { Transport } from './transport.ts'

/**
 * The plugin API. This folder holds every contract that a plugin can use. A plugin is an object made by `definePlugin`.
 * Its `setup` acquires resources and returns the service of its slot. For each resource that a plugin acquires, it
 * registers a function in `context.scope` that releases the resource.
 */

/** The version of this API. It increases when plugins for the previous version can no longer work. */
export const pluginApi = 1

/** The service of each slot: the return value of `setup`. */
export interface Slots {
  storage: Storage
  search: Search
  executor: Executor
  skills: SkillSource
  endpoint: Endpoint
  transport: Transport
}
export type Slot = keyof Slots
export const SLOTS = [
  'storage', 'search', 'executor', 'skills', 'endpoint', 'transport'
] as const satisfies readonly Slot[]

/** The pattern of plugin names. */
export const PLUGIN_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/

/** The context that the `setup` of every plugin receives. */
export interface PluginContext {
  /** The whole configuration, frozen. `SectionOf.of` reads a section that a plugin declares. */
  config: Config
  /**
   * Absolute path of the configuration file. The file may be missing; the path is absent when there can be no file. For
   * settings that change while the server runs.
   */
  config_file?: string
  /** The functions registered here run when the plugin stops, last in, first out. */
  scope: Scope
  log: Logger
  /** Aborts when the plugin takes too long to start, or when the kernel stops during the start. */
  signal: AbortSignal
  /** Absolute path of the data directory; it exists. */
  data_dir: string
  /**
   * Reports the health of the plugin to the supervisor, after the plugin has started. `warn` tells what the plugin
   * can't promise on this machine while it works as it can: health shows it, and the plugin stays ready.
   */
  health: { degrade (reason: string): void, recover (): void, warn (warning: string): void }
}

/** The context of an endpoint. */
export interface EndpointContext extends PluginContext { gateway: Gateway }

/** The context of a transport. */
export interface TransportContext extends EndpointContext {
  /** The endpoints, for a transport that is an HTTP server; other transports ignore them. */
  endpoints: readonly Endpoint[]
}

/** The context of a search. */
export interface SearchContext extends PluginContext {
  /** The cache of the storage. */
  cache: Cache
}

type ContextOf<S extends Slot> = S extends 'transport'
  ? TransportContext
  : S extends 'endpoint' ? EndpointContext : S extends 'search' ? SearchContext : PluginContext

/** A result of a plugin's examination of its environment. */
export interface Finding {
  /** `ok`: as it should be; `note`: useful to know; `problem`: the user has to fix it. */
  level: 'ok' | 'note' | 'problem'
  /** The subject of the finding, in one or two words. */
  about: string
  text: string
  /** The action that solves the problem. */
  remedy?: string
}

/** The context that the `examine` function of a plugin receives. */
export interface ExamineContext {
  config: Config
  /** Absolute path of the data directory, which may be missing. */
  data_dir: string
  /** All skills that could be loaded. */
  skills: readonly SkillDefinition[]
  signal: AbortSignal
}

/** A plugin, before it is set up. */
export interface Plugin<S extends Slot = Slot, Options extends object = object> {
  /** A unique name. The configuration section `[plugin.<name>]` holds the options of the plugin. */
  readonly name: string
  readonly slot: S
  /** The version of the API that the plugin was made for: `definePlugin` sets it. */
  readonly api?: number
  /**
   * Whether the kernel stops when the plugin can't start. An optional plugin that can't start is reported as
   * `degraded`. Default true.
   */
  readonly required?: boolean
  /** Schema of the options. The kernel fills in default values and checks the options before `setup`. */
  readonly options?: TObject
  /** Sections of the configuration beside `[plugin.<name>]`, made by `defineSection`. */
  readonly sections?: readonly Section[]
  setup (context: ContextOf<S>, options: Options): Promise<Slots[S]> | Slots[S]
  /**
   * Examines the dependencies of the plugin, whether the plugin is set up or not, and changes nothing. For `skillet
   * doctor`.
   */
  examine? (context: ExamineContext): Promise<Finding[]> | Finding[]
  /** For a storage: copies of its history, and repairs. For `skillet backup`, `restore` and `doctor --repair`. */
  readonly care?: HistoryCare
}

/** A plugin of any slot. */
export type AnyPlugin = { [S in Slot]: Plugin<S> }[Slot]

/**
 * Declares a plugin. Its `setup` returns the service of its slot. When the plugin declares a schema of its options, the
 * kernel fills in their default values and checks them, and they are typed. The returned plugin holds the version of
 * the API that it was made for.
 */
export function definePlugin<S extends Slot, O extends TObject> (plugin: Omit<Plugin<S, Static<O>>, 'options'> & {
  readonly options: O
}): Plugin<S>
export function definePlugin<S extends Slot> (plugin: Plugin<S> & { readonly options?: undefined }): Plugin<S>
export function definePlugin<S extends Slot> (plugin: Plugin<S>): Plugin<S> {
  return { api: pluginApi, ...plugin }
}
