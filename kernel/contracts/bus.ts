import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { ExecutionStatus, LogLevel } from './schemas.ts'
import type { PluginStatus } from './status.ts'

/** The events of the kernel, by topic. */
export interface Events {
  /** A transition of an execution. Every transition is published, in order for each execution. */
  transition: { execution_id: string, skill_name: string, tool_name: string, status: ExecutionStatus, at: string }
  /** Progress that a running tool reports. */
  progress: { execution_id: string, done: number, total: number | undefined, message: string | undefined }
  /** A line that a running tool logs. */
  log: { execution_id: string, level: LogLevel, text: string }
  /**
   * Text that a running tool wrote to standard output. The texts, in order, are the beginning of the output of the
   * execution. Published only when the executor reports output, and never for a run that received a secret.
   */
  output: { execution_id: string, text: string }
  /** Text that a running tool wrote to standard error, under the same conditions. */
  stderr: { execution_id: string, text: string }
  /** A plugin entered a new state. */
  plugin: PluginStatus
  /**
   * Skills were added, changed or removed, or the set of broken skills changed. The names are sorted; the numbers are
   * the present counts.
   */
  skills: {
    skills: number, quarantined: number, added: readonly string[], changed: readonly string[],
    removed: readonly string[]
  }
}

export type { LogLevel } from './schemas.ts'
type Listener<E> = (event: E) => void

/**
 * The kernel's event bus. Synchronous. When a listener throws, the bus logs the error and calls the other listeners
 * nevertheless.
 */
export class Bus {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #log: Logger

  constructor (log: Logger) {
    this.#log = log
  }

  /** Adds a listener to a topic; the returned function removes it. */
  on<T extends keyof Events> (topic: T, listener: Listener<Events[T]>): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners)
    listeners.add(listener)
    return () => { listeners.delete(listener) }
  }

  /** Whether a topic has listeners: without listeners, a publisher need not prepare the event. */
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
