import { createActor, type Actor } from 'xstate'
import type { Bus } from '../contracts/bus.ts'
import type { AnyPlugin, PluginContext, SearchContext, Slots, TransportContext } from '../contracts/plugin.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { pluginMachine } from './plugin.machine.ts'
import { pluginOptions } from './plugin-options.ts'
import type { JsonObject, PluginStatus } from '../contracts/schemas.ts'
import { Scope } from '../lib/scope.ts'

/** How long a plugin may take to start. */
const start_ms = 60_000
/** How long a plugin may take to release what it holds. */
const stop_ms = 10_000

type Base = Omit<PluginContext, 'scope' | 'health' | 'signal'>
/** What only plugins of some slots are given. */
type Given = Partial<Pick<TransportContext, 'gateway' | 'endpoints'> & Pick<SearchContext, 'cache'>>

/** Starts and stops one plugin under an actor whose state everybody can see. */
export class Supervisor {
  readonly plugin: AnyPlugin
  readonly #actor: Actor<typeof pluginMachine>
  readonly #scope: Scope
  readonly #log: Logger

  constructor (plugin: AnyPlugin, bus: Bus, log: Logger) {
    this.plugin = plugin
    this.#log = log
    this.#scope = new Scope(error => { log.error({ plugin: plugin.name, error: messageOf(error) }, 'a plugin that was stopping acquired something, and could not release it') })
    this.#actor = createActor(pluginMachine)
    this.#actor.subscribe(() => { bus.emit('plugin', this.status) })
    this.#actor.start()
  }

  get status (): PluginStatus {
    const { value, context: { reason } } = this.#actor.getSnapshot()
    return { name: this.plugin.name, state: value, ...(reason !== undefined && { reason }) }
  }

  /**
   * Sets the plugin up.
   * @returns what it provides; undefined when it failed and is optional
   * @throws Error naming the plugin and the cause, when it failed and is required
   */
  async start (base: Base & Given, stop: AbortSignal): Promise<Slots[keyof Slots] | undefined> {
    const { plugin } = this
    const deadline = AbortSignal.any([stop, AbortSignal.timeout(start_ms)])
    const context = {
      ...base,
      log: base.log.child({ plugin: plugin.name }),
      scope: this.#scope,
      signal: deadline,
      health: {
        degrade: (reason: string) => { this.#actor.send({ type: 'degrade', reason }) },
        recover: () => { this.#actor.send({ type: 'recover' }) }
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

  /** Releases what the plugin holds. Never rejects: a plugin that can't stop does not keep the others from it. */
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

async function setUp (plugin: AnyPlugin, { gateway, endpoints = [], cache, ...context }: PluginContext & Given, options: JsonObject): Promise<Slots[keyof Slots]> {
  if (plugin.slot === 'transport' || plugin.slot === 'endpoint') {
    if (gateway === undefined) throw new Error(`a plugin of the slot ${plugin.slot} starts after the services`)
    return plugin.slot === 'endpoint' ? await plugin.setup({ ...context, gateway }, options) : await plugin.setup({ ...context, gateway, endpoints }, options)
  }
  if (plugin.slot === 'search') {
    if (cache === undefined) throw new Error('a search starts after the storage')
    return await plugin.setup({ ...context, cache }, options)
  }
  return await plugin.setup(context, options)
}

/** The promise, or a rejection as soon as the signal aborts. */
function orAborted<T> (promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(new Error(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError' ? 'it took too long' : 'the kernel is stopping')) }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort) })
  })
}
