import type { Static, TObject } from 'typebox'
import type { Logger } from '../lib/log.ts'
import type { Scope } from '../lib/scope.ts'
import type { Config } from './config.ts'
import type { Endpoint } from './endpoint.ts'
import type { Executor } from './executor.ts'
import type { Gateway } from './gateway.ts'
import type { Search } from './search.ts'
import type { SkillDefinition } from './skill.ts'
import type { SkillSource } from './skill-source.ts'
import type { Cache, Storage } from './storage.ts'
import type { Transport } from './transport.ts'

/**
 * The plugin API: every contract a plugin can meet is in this folder. A plugin is an object made by `definePlugin`; its
 * `setup` returns what its slot asks for. It registers the undo of everything it acquires in `context.scope`.
 */

/** The version of this API. It goes up when plugins that were made for the one before can't work any more. */
export const pluginApi = 1

/** What each slot's `setup` returns. */
export interface Slots {
  storage: Storage
  search: Search
  executor: Executor
  skills: SkillSource
  endpoint: Endpoint
  transport: Transport
}
export type Slot = keyof Slots
export const SLOTS = ['storage', 'search', 'executor', 'skills', 'endpoint', 'transport'] as const satisfies readonly Slot[]

/** What plugins may be called. */
export const PLUGIN_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/

/** What every plugin is given. */
export interface PluginContext {
  /** The whole configuration, frozen. */
  config: Config
  /**
   * Absolute path of the configuration file, which need not exist; absent where there can be none. For settings that
   * change while the server runs.
   */
  config_file?: string
  /** Undone, last in first out, when the plugin stops. */
  scope: Scope
  log: Logger
  /** Aborts when the plugin took too long to start, or the kernel stops while it starts. */
  signal: AbortSignal
  /** Absolute path of the data directory; it exists. */
  data_dir: string
  /** Tells the supervisor how the plugin is, once it has started. */
  health: { degrade (reason: string): void, recover (): void }
}

/** What an endpoint is given beyond that. */
export interface EndpointContext extends PluginContext { gateway: Gateway }

/** What a transport is given beyond that. */
export interface TransportContext extends EndpointContext {
  /** For a server that speaks HTTP; others leave them alone. */
  endpoints: readonly Endpoint[]
}

/** What a search is given beyond that. */
export interface SearchContext extends PluginContext {
  /** The storage's cache. */
  cache: Cache
}

type ContextOf<S extends Slot> = S extends 'transport' ? TransportContext : S extends 'endpoint' ? EndpointContext : S extends 'search' ? SearchContext : PluginContext

/** What a plugin finds of its surroundings. */
export interface Finding {
  /** `ok`: as it should be; `note`: worth knowing; `problem`: somebody has to mend it. */
  level: 'ok' | 'note' | 'problem'
  /** What it is about, in a word or two. */
  about: string
  text: string
  /** What to do about it. */
  remedy?: string
}

/** What a plugin is given to look at its surroundings. */
export interface ExamineContext {
  config: Config
  /** Absolute; it need not exist. */
  data_dir: string
  /** All skills that could be loaded. */
  skills: readonly SkillDefinition[]
  signal: AbortSignal
}

/** A plugin, before it is set up. */
export interface Plugin<S extends Slot = Slot, Options extends object = object> {
  /** Unique; its options are the configuration section `[plugin.<name>]`. */
  readonly name: string
  readonly slot: S
  /** The version of the API that it was made for: `definePlugin` says it. */
  readonly api?: number
  /** Whether the kernel stops when it can't start; an optional one is reported `degraded`. Default true. */
  readonly required?: boolean
  /** Schema of its options; values are given defaults and checked before `setup`. */
  readonly options?: TObject
  setup (context: ContextOf<S>, options: Options): Promise<Slots[S]> | Slots[S]
  /** Looks at what it depends on, whether it is set up or not, and changes nothing: for `skillet doctor`. */
  examine? (context: ExamineContext): Promise<Finding[]> | Finding[]
}

/** Any plugin, of whatever slot. */
export type AnyPlugin = { [S in Slot]: Plugin<S> }[Slot]

/**
 * Declares a plugin. Its `setup` returns what its slot asks for; its options, if it declares a schema, are
 * checked, given defaults and typed. What it returns says for which version of the API it was made.
 */
export function definePlugin<S extends Slot, O extends TObject> (plugin: Omit<Plugin<S, Static<O>>, 'options'> & { readonly options: O }): Plugin<S>
export function definePlugin<S extends Slot> (plugin: Plugin<S> & { readonly options?: undefined }): Plugin<S>
export function definePlugin<S extends Slot> (plugin: Plugin<S>): Plugin<S> {
  return { api: pluginApi, ...plugin }
}
