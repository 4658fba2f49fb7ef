import { letThreadsEnd, splitInstance, type Logger } from '../../../kernel/index.ts'
import { settle_ms, type Limits } from '../shared/limits.ts'
import type { Of } from '../shared/protocol.ts'
import type { Said } from './attempt.ts'
import { checkDescriptors } from './descriptors.ts'
import { threadEnvironment } from './environment.ts'
import type { Run } from './run.ts'
import { Thread } from './thread.ts'

export interface ThreadsEvents {
  /** A thread was given back by itself, or has ended: another run may begin. */
  room (): void
  /** A message of a thread about its run. */
  said (thread: Thread, message: Said): void
}

/** The script threads: which of them exist, which are idle, and which may have a run. */
export class Threads {
  readonly #limits: Limits
  /** Hard limit of a thread's heap, in MiB. */
  readonly #heap_mib: number
  readonly #log: Logger
  readonly #events: ThreadsEvents
  readonly #environment = threadEnvironment(process.env)
  /** All that have not ended. */
  readonly #all = new Set<Thread>()
  /**
   * In the order in which they were given back. The last is used first, so that threads that are not needed grow old.
   */
  readonly #idle: Thread[] = []
  /** Called when a thread says it is clean. */
  readonly #settling = new Map<Thread, () => void>()
  #closed = false
  #sweep: NodeJS.Timeout | undefined

  constructor (limits: Limits, heap_mib: number, log: Logger, events: ThreadsEvents) {
    letThreadsEnd()
    this.#limits = limits
    this.#heap_mib = heap_mib
    this.#log = log
    this.#events = events
  }

  /** All threads, whatever they do. */
  get size (): number {
    return this.#all.size
  }

  /** Whether no thread is about to end. */
  get quiet (): boolean {
    return [...this.#all].every(thread => !thread.leaving)
  }

  /**
   * A thread for a run: an idle thread, or a new one. Undefined when there are as many as there may be; a thread that
   * ends reports `room`.
   */
  take (run: Run, nice: number): Thread | undefined {
    const { directory, revision } = run.task.skill
    const fits = (thread: Thread): boolean => !thread.leaving
      && thread.nice === nice
      && thread.takes(run)
      && !isOtherInstance(thread.revisions.get(run.module), revision)
    let at = this.#idle.findLastIndex(thread => fits(thread) && thread.has(run.module, revision))
    while (at >= 0 || (at = this.#idle.findLastIndex(fits)) >= 0) {
      const [thread] = this.#idle.splice(at, 1)
      if (thread === undefined) break
      const loadedRevision = thread.revisions.get(run.module)
      const version = thread.versions.get(directory) ?? run.module
      if (version === run.module && (loadedRevision === undefined || loadedRevision === revision)) {
        thread.versions.set(directory, run.module)
        return thread
      }
      // Modules stay loaded, with all they import and left behind: another version needs a thread that has none of it.
      void thread.end()
      at = -1
    }
    if (this.#all.size < this.#limits.threadsMax) {
      const thread = this.#start(nice)
      thread.versions.set(directory, run.module)
      return thread
    }
    void this.#idle.shift()?.end() // an idle thread that this run may not have makes room
    return undefined
  }

  /** Any idle thread, or a new one that gives way to nothing. Undefined when there are as many as there may be. */
  takeAny (): Thread | undefined {
    return this.#idle.pop() ?? (this.#all.size < this.#limits.threadsMax ? this.#start(0) : undefined)
  }

  /** Takes back a thread that is free. */
  giveBack (thread: Thread): void {
    if (thread.ending) return
    if (this.#closed) return void thread.end()
    thread.idle_since_ms = performance.now()
    this.#idle.push(thread)
  }

  /**
   * Takes back a thread whose tool left something open, which has a moment to close; nobody has the thread until then.
   */
  letSettle (thread: Thread): void {
    const timer = setTimeout(() => {
      this.#settling.delete(thread)
      void thread.end()
    }, settle_ms)
    this.#settling.set(thread, () => {
      clearTimeout(timer)
      this.#settling.delete(thread)
      this.giveBack(thread)
      this.#events.room()
    })
  }

  /** Ends each thread that is given back from now on. */
  refuse (): void {
    this.#closed = true
    clearInterval(this.#sweep)
  }

  /** Ends all threads. */
  async end (): Promise<void> {
    await Promise.all([...this.#all].map(thread => thread.end()))
  }

  /** @throws Error when the system has no room for another thread */
  #start (nice: number): Thread {
    checkDescriptors()
    const { heapBytesMax, outputBytesMax } = this.#limits
    const thread: Thread = new Thread({
      data: { output_bytes_max: outputBytesMax, memory_bytes_kept_max: heapBytesMax / 2 },
      heap_mib: this.#heap_mib,
      env: this.#environment,
      nice,
      onMessage: message => { this.#hear(thread, message) },
      onStray: text => { this.#log.warn({ error: text }, 'a script tool raised an error after its end') },
      onNonsense: reason => {
        const skills = [...thread.versions.keys()]
        this.#log.warn({ what: reason, skills }, 'a script thread was ended for what it sent the server')
      },
      onGone: () => { this.#forget(thread) }
    })
    this.#all.add(thread)
    this.#sweep ??= setInterval(() => { this.#endIdle() }, this.#limits.idle_ms / 2).unref()
    return thread
  }

  #hear (thread: Thread, message: Said | Of<'clean'>): void {
    if (message.type === 'clean') this.#settling.get(thread)?.()
    else this.#events.said(thread, message)
  }

  #forget (thread: Thread): void {
    this.#all.delete(thread)
    const at = this.#idle.indexOf(thread)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#events.room()
  }

  #endIdle (): void {
    const before_ms = performance.now() - this.#limits.idle_ms
    while (this.#idle[0] !== undefined && this.#idle[0].idle_since_ms < before_ms) void this.#idle.shift()?.end()
    if (this.#all.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }
}

/**
 * Whether a thread has the code of a skill for another instance than a run needs. Such a thread is kept: instances are
 * called in turn, and what the code holds for one must not be seen by another.
 */
function isOtherInstance (loaded: string | undefined, revision: string): boolean {
  if (loaded === undefined || loaded === revision) return false
  return splitInstance(loaded).skill === splitInstance(revision).skill
}
