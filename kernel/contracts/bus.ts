import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { ExecutionStatus, PluginStatus } from './schemas.ts'

/** What happens in the kernel, by topic. */
export interface Events {
  /** A transition of an execution: every one, in order for each execution. */
  transition: { execution_id: string, skill_name: string, tool_name: string, status: ExecutionStatus, at: string }
  /** Progress that a running tool reports. */
  progress: { execution_id: string, done: number, total: number | undefined, message: string | undefined }
  /** A line that a running tool logs. */
  log: { execution_id: string, level: LogLevel, text: string }
  /**
   * Text that a running tool put out: in order, the beginning of its execution's output. Only where the executor tells,
   * and never for a run that was given a secret.
   */
  output: { execution_id: string, text: string }
  /** A plugin entered a state. */
  plugin: PluginStatus
  /**
   * Skills came, changed or went, or others are broken than before. The names are in order; the numbers are what there
   * is now.
   */
  skills: { skills: number, quarantined: number, added: readonly string[], changed: readonly string[], removed: readonly string[] }
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
type Listener<E> = (event: E) => void

/** The kernel's event bus. Synchronous; a listener that throws is logged and harms nobody else. */
export class Bus {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #log: Logger

  constructor (log: Logger) {
    this.#log = log
  }

  /** Listens to a topic; the returned function stops it. */
  on<T extends keyof Events> (topic: T, listener: Listener<Events[T]>): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners)
    listeners.add(listener)
    return () => { listeners.delete(listener) }
  }

  /** Whether somebody listens to a topic, so that what nobody would hear need not be gathered. */
  has (topic: keyof Events): boolean {
    return (this.#listeners.get(topic)?.size ?? 0) > 0
  }

  emit<T extends keyof Events> (topic: T, event: Events[T]): void {
    const listeners = this.#listeners.get(topic) as Set<Listener<Events[T]>> | undefined
    if (listeners === undefined) return
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#log.error({ topic, error: messageOf(error) }, 'a listener of the event bus threw')
      }
    }
  }
}
