import { createActor, type Actor } from 'xstate'
import type { Bus } from '../contracts/bus.ts'
import type { AnyPlugin, PluginContext, SearchContext, Slots, TransportContext } from '../contracts/plugin.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { pluginMachine } from './plugin.machine.ts'
import { pluginOptions } from './plugin-options.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import type { PluginStatus } from '../contracts/status.ts'
import { Scope } from '../lib/scope.ts'

/** How long a plugin may take to start, in milliseconds. */
const start_ms = 60_000
/** How long a plugin may take to release its resources, in milliseconds. */
const stop_ms = 10_000

type Base = Omit<PluginContext, 'scope' | 'health' | 'signal'>
/** The parts of the context that only plugins of some slots receive. */
type LateContext = Partial<Pick<TransportContext, 'gateway' | 'endpoints'> & Pick<SearchContext, 'cache'>>

/** Starts and stops one plugin. An actor holds the state of the plugin, which is published on the bus. */
export class Supervisor {
  readonly plugin: AnyPlugin
  readonly #actor: Actor<typeof pluginMachine>
  readonly #scope: Scope
  readonly #log: Logger

  constructor (plugin: AnyPlugin, bus: Bus, log: Logger) {
    this.plugin = plugin
    this.#log = log
    this.#scope = new Scope(error => {
      log.error(
        { plugin: plugin.name, error: messageOf(error) },
        'a plugin that was stopping acquired something, and could not release it'
      )
    })
    this.#actor = createActor(pluginMachine)
    this.#actor.subscribe(() => { bus.emit('plugin', this.status) })
    this.#actor.start()
  }

  get status (): PluginStatus {
    const { value, context: { reason, warning } } = this.#actor.getSnapshot()
    return {
      name: this.plugin.name, state: value, ...(reason !== undefined && { reason }),
      ...(warning !== undefined && { warning })
    }
  }

  /**
   * Starts the plugin.
   * @returns the service of the plugin; undefined when an optional plugin failed
   * @throws Error with the name of the plugin and the cause, when a required plugin failed
   */
  async start (base: Base & LateContext, stop: AbortSignal): Promise<Slots[keyof Slots] | undefined> {
    const { plugin } = this
    const deadline = AbortSignal.any([stop, AbortSignal.timeout(start_ms)])
    const context = {
      ...base,
      log: base.log.child({ plugin: plugin.name }),
      scope: this.#scope,
      signal: deadline,
      health: {
        degrade: (reason: string) => { this.#actor.send({ type: 'degrade', reason }) },
        recover: () => { this.#actor.send({ type: 'recover' }) },
        warn: (warning: string) => { this.#actor.send({ type: 'warn', warning }) }
      }
    }
    try {
      const options = pluginOptions(plugin, base.config.plugin[plugin.name] ?? {})
      const provided = await orAborted(setUp(plugin, context, options), deadline)
      this.#actor.send({ type: 'started' })
      return provided
    } catch (error) {
      const reason = messageOf(error)
      this.#actor.send({ type: 'fail', reason })
      await this.#release()
      if (plugin.required ?? true) throw new Error(`plugin ${plugin.name} did not start: ${reason}`, { cause: error })
      this.#log.warn({ plugin: plugin.name, reason }, 'an optional plugin did not start')
      return undefined
    }
  }

  /** Releases the plugin's resources. Never rejects, so that a plugin that can't stop does not block other plugins. */
  async stop (): Promise<void> {
    if (this.status.state === 'stopped') return
    this.#actor.send({ type: 'stop' })
    await this.#release()
    this.#actor.send({ type: 'stopped' })
    this.#actor.stop()
  }

  async #release (): Promise<void> {
    try {
      await orAborted(this.#scope.close(), AbortSignal.timeout(stop_ms))
    } catch (error) {
      this.#log.error({ plugin: this.plugin.name, error: messageOf(error) }, 'a plugin did not release everything')
    }
  }
}

async function setUp (
  plugin: AnyPlugin,
  { gateway, endpoints = [], cache, ...context }: PluginContext & LateContext,
  options: JsonObject
): Promise<Slots[keyof Slots]> {
  if (plugin.slot === 'transport' || plugin.slot === 'endpoint') {
    if (gateway === undefined) throw new Error(`a plugin of the slot ${plugin.slot} starts after the services`)
    return plugin.slot === 'endpoint'
      ? await plugin.setup({ ...context, gateway }, options)
      : await plugin.setup({ ...context, gateway, endpoints }, options)
  }
  if (plugin.slot === 'search') {
    if (cache === undefined) throw new Error('a search starts after the storage')
    return await plugin.setup({ ...context, cache }, options)
  }
  return await plugin.setup(context, options)
}

/** Settles like the promise, or rejects as soon as the signal aborts. */
function orAborted<T> (promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(new Error(
        signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
          ? 'it took too long'
          : 'the kernel is stopping'
      ))
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort) })
  })
}
