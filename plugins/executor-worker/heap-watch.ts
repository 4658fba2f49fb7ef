import type { Session } from 'node:inspector'
import { messageOf, type Logger } from '../../kernel/index.ts'

/** What is watched: a thread while it loads or runs something. */
export interface Watched {
  /** Its thread id; undefined while it has none. */
  readonly thread_id: number | undefined
  readonly since_ms: number
  /** Whether it waits for something outside, so that its heap grows slowly if at all. */
  readonly waiting: boolean
  /** It uses more heap than it may. */
  exhausted (): void
}

interface State { asked_ms: number, used: number, pending: boolean, over: boolean }

const tick_ms = 25
/** What ends sooner than this is never looked at, so that short runs cost nothing. */
const young_ms = 25
const computing_ms = 50
const waiting_ms = 250
/** A thread that does not answer in so long is asked again: it may have been busy, or the question lost. */
const unanswered_ms = 2000
/** The session is given up after so long without need of it. */
const linger_ms = 500

/** Headroom of V8's own limit above the one that is watched: a thread that allocates as fast as it can takes about a second to use it up. */
export const headroom_mib = 2048

/**
 * Ends a thread that uses more heap than it may, before V8 does: when an allocation fails at V8's own limit
 * (`resourceLimits`), it ends the whole process unless the allocation is small. An array that grows by `push`, a Map,
 * a spread did so in 5 of 9 patterns tried; watched, all are ended and nothing else is harmed. The inspector is the one
 * way to ask a thread that never returns to its event loop how much it uses; it answers between two JavaScript
 * instructions. It opens no port. It is connected while some run takes longer than a moment and the process has more memory than one
 * thread may have: until then none can be past its limit.
 *
 * Nothing is said through it while a thread ends: Node (20, and later sources read alike) posts to a thread that is being taken down by a
 * pointer that is none any more, and the process dies by SIGABRT. Threads of other plugins are told nothing but that the session begins and ends.
 */
export class HeapWatch {
  readonly #watched = new Map<Watched, State>()
  /** Inspector sessions by thread id. */
  readonly #threads = new Map<number, string>()
  readonly #waitingFor = new Map<string, Watched>()
  readonly #bytesMax: number
  readonly #log: Logger
  readonly #quiet: () => boolean
  readonly #inspector: typeof import('node:inspector') | undefined
  #session: Session | undefined
  #timer: NodeJS.Timeout | undefined
  #busy_ms = 0
  #questions = 0

  /** @param quiet whether no thread is about to end */
  constructor (bytesMax: number, log: Logger, quiet: () => boolean) {
    this.#bytesMax = bytesMax
    this.#log = log
    this.#quiet = quiet
    this.#inspector = process.getBuiltinModule('node:inspector')
    if (!this.works) log.warn({}, 'this Node has no inspector: a script tool that runs out of memory may end the server')
  }

  /** Whether threads are watched; where not, V8's own limit is the only one. */
  get works (): boolean {
    return this.#inspector !== undefined
  }

  add (watched: Watched): void {
    if (this.#inspector === undefined) return
    this.#watched.set(watched, { asked_ms: 0, used: 0, pending: false, over: false })
    this.#timer ??= setInterval(() => { this.#look() }, tick_ms).unref()
  }

  delete (watched: Watched): void {
    this.#watched.delete(watched)
  }

  close (): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watched.clear()
    this.#disconnect()
  }

  #look (): void {
    if (!this.#quiet()) return
    const now = performance.now()
    let suspicious: boolean | undefined
    for (const [watched, state] of this.#watched) {
      if (now - watched.since_ms < young_ms || watched.thread_id === undefined) continue
      if (!(suspicious ??= process.memoryUsage.rss() > this.#bytesMax)) break
      this.#busy_ms = now
      const every = state.used > this.#bytesMax / 2 ? 0 : watched.waiting ? waiting_ms : computing_ms
      if (now - state.asked_ms < (state.pending ? unanswered_ms : every)) continue
      this.#connect()
      const session = this.#threads.get(watched.thread_id)
      if (session === undefined) continue
      state.asked_ms = now
      state.pending = true
      this.#question(session, watched)
    }
    // Threads are slower while it is connected (a third less throughput of trivial tools).
    if (now - this.#busy_ms > linger_ms) this.#disconnect()
    if (this.#watched.size > 0 || this.#session !== undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #question (session: string, watched: Watched): void {
    const id = ++this.#questions
    this.#waitingFor.set(`${session} ${id}`, watched)
    this.#send(session, id, 'Runtime.getHeapUsage')
  }

  #answered (session: string, text: string): void {
    const { id, result } = JSON.parse(text) as { id?: number, result?: { usedSize?: number } }
    const key = `${session} ${id}`
    const watched = this.#waitingFor.get(key)
    if (watched === undefined || result?.usedSize === undefined) return
    this.#waitingFor.delete(key)
    const state = this.#watched.get(watched)
    if (state === undefined) return
    state.used = result.usedSize
    if (result.usedSize <= this.#bytesMax) {
      state.pending = state.over = false
    } else if (!state.over) {
      // It may be garbage: what counts is what a collection leaves.
      state.over = true
      this.#send(session, ++this.#questions, 'HeapProfiler.collectGarbage')
      this.#question(session, watched)
    } else {
      this.#watched.delete(watched)
      watched.exhausted()
    }
  }

  #send (sessionId: string, id: number, method: string): void {
    this.#post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method }) })
  }

  #post (method: string, parameters: object): void {
    this.#session?.post(method, parameters, error => {
      if (error !== null) this.#log.debug({ error: messageOf(error) }, 'a thread could not be asked for its heap')
    })
  }

  #connect (): void {
    if (this.#session !== undefined || this.#inspector === undefined) return
    const session = new this.#inspector.Session()
    session.connect()
    this.#session = session
    // Threads that exist are told of at once, later ones as they come.
    session.on('NodeWorker.attachedToWorker', ({ params: { workerInfo, sessionId } }) => {
      // `workerId` is a number of the inspector's own; the thread's stands in the title, `[worker 7]`.
      const thread = /^\[worker (\d+)\]/.exec(workerInfo.title)?.[1]
      if (thread === undefined) this.#log.warn({ title: workerInfo.title }, 'a script thread\'s heap can\'t be watched')
      else this.#threads.set(Number(thread), sessionId)
    })
    session.on('NodeWorker.detachedFromWorker', ({ params }) => { this.#forget(params.sessionId) })
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => { this.#answered(params.sessionId, params.message) })
    this.#post('NodeWorker.enable', { waitForDebuggerOnStart: false })
  }

  #forget (sessionId: string): void {
    for (const [thread, id] of this.#threads) if (id === sessionId) this.#threads.delete(thread)
    for (const key of this.#waitingFor.keys()) if (key.startsWith(`${sessionId} `)) this.#waitingFor.delete(key)
  }

  #disconnect (): void {
    this.#session?.disconnect()
    this.#session = undefined
    this.#threads.clear()
    this.#waitingFor.clear()
  }
}
