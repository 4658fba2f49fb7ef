import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  completeConfig, configSchema, pluginOptions, Scope, sectionsOf, silentLogger, type Cache, type Config, type Endpoint,
  type Gateway, type Logger, type Plugin, type Slot, type Slots
} from '../../kernel/index.ts'

export interface OpenOptions {
  /** Sections of the configuration; defaults fill in the rest. */
  config?: Record<string, unknown>
  /** An existing data directory, kept at the end; by default a temporary one, removed at the end. */
  data_dir?: string
  log?: Logger
  signal?: AbortSignal
  /** For a search: where it keeps vectors; by default one that forgets at once. */
  cache?: Cache
  /** For a transport or an endpoint, which need one: see `openKernel`. */
  gateway?: Gateway
  /** For a transport that speaks HTTP; by default none. */
  endpoints?: readonly Endpoint[]
}

export interface Opened<Service> {
  service: Service
  config: Config
  data_dir: string
  /** Why the plugin says it is degraded; undefined while it is well. */
  degraded (): string | undefined
  /** Releases all that the plugin acquired, and the temporary data directory. Idempotent. */
  close (): Promise<void>
}

/** Sets up one plugin as the kernel would, without a kernel. */
export async function openPlugin<S extends Slot> (
  plugin: Plugin<S>,
  options: OpenOptions = {}
): Promise<Opened<Slots[S]>> {
  const {
    config: sections = {},
    log = silentLogger,
    signal = new AbortController().signal,
    cache = { read: async keys => keys.map(() => undefined), write: async () => {} }
  } = options
  const { gateway, endpoints = [] } = options
  if (gateway === undefined && (plugin.slot === 'transport' || plugin.slot === 'endpoint')) {
    throw new Error(`the ${plugin.slot} ${plugin.name} needs a gateway, such as that of openKernel`)
  }
  const scope = new Scope()
  let degraded: string | undefined
  const data_dir = options.data_dir ?? await mkdtemp(join(tmpdir(), 'skillet-test-'))
  if (options.data_dir === undefined) scope.defer(() => rm(data_dir, { recursive: true, force: true }))
  try {
    const config = completeConfig(sections, configSchema(sectionsOf(plugin)))
    const own = pluginOptions(plugin, config.plugin[plugin.name] ?? {})
    const context = {
      config, scope, log, signal, data_dir, cache, gateway, endpoints,
      health: { degrade (reason: string) { degraded = reason }, recover () { degraded = undefined }, warn () {} }
    }
    // No slot is given more than this; most are given less.
    const service =
      await (plugin.setup as (context: unknown, options: object) => Promise<Slots[S]> | Slots[S])(context, own)
    return { service, config, data_dir, degraded: () => degraded, close: () => scope.close() }
  } catch (error) {
    await scope.close()
    throw error
  }
}
