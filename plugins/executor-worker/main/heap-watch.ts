import type { Session } from 'node:inspector'
import { isObject, messageOf, type JsonObject, type Logger } from '../../../kernel/index.ts'
import { residentBytes } from './resident-bytes.ts'
import { externalBytesName } from '../shared/protocol.ts'

/** What is watched: a thread while it loads or runs something. */
export interface Watched {
  /** Its thread id; undefined while it has none. */
  readonly thread_id: number | undefined
  readonly since_ms: number
  /** Whether it waits for something outside, so that its memory grows slowly if at all. */
  readonly waiting: boolean
  /** It uses more memory than it may. */
  exhausted (): void
}

interface State {
  asked_ms: number
  used: number
  pending: boolean
  /** Since when it was past its limit whenever it was looked at; undefined while it is not. */
  over_ms: number | undefined
}

/** What a thread was asked, and how much its heap takes, where that is known and its buffers were asked for. */
interface Question { watched: Watched, heap: number | undefined }

const tick_ms = 25
/** What ends sooner than this is never looked at, so that short runs cost nothing. */
const young_ms = 25
const computing_ms = 50
const waiting_ms = 250
/** A thread that does not answer in so long is asked again: it may have been busy, or the question lost. */
const unanswered_ms = 2000
/** The session is given up after so long without need of it. */
const linger_ms = 500
/**
 * Buffers may be garbage that is not given back yet: Node 24 collects none before the thread returns to its event loop,
 * and what V8 itself collected is counted a moment longer. So they have to be too many for so long; or by so much that
 * they can be no garbage, which V8 does not let grow so far.
 */
const surely = { ms: 500, bytes: 512 * 1_048_576 }

/**
 * Headroom of V8's own limit above the one that is watched: a thread that allocates as fast as it can takes about a
 * second to use it up.
 */
export const headroom_mib = 2048

/**
 * Ends a thread that uses more memory than it may: V8's heap, and the buffers beside it that V8 knows of. For the heap
 * it comes before V8 does: when an allocation fails at V8's own limit (`resourceLimits`), it ends the whole process
 * unless the allocation is small. An array that grows by `push`, a Map, a spread did so in 5 of 9 patterns tried;
 * watched, all are ended and nothing else is harmed. The inspector is the one way to ask a thread that never returns to
 * its event loop how much it uses; it answers between two JavaScript instructions. It opens no port. It is connected
 * while some run takes longer than a moment and the process has more memory than one thread may have: until then none
 * can be past its limit. What V8 does not know of is not seen: shared buffers, and what native addons take.
 *
 * Nothing is said through it while a thread ends: Node (20, and later sources read alike) posts to a thread that is
 * being taken down by a pointer that is none any more, and the process dies by SIGABRT. Threads of other plugins are
 * told nothing but that the session begins and ends.
 */
export class HeapWatch {
  readonly #watched = new Map<Watched, State>()
  /** Inspector sessions by thread id. */
  readonly #threads = new Map<number, string>()
  readonly #waitingFor = new Map<string, Question>()
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
    if (!this.works) {
      log.warn({}, 'this Node has no inspector: a script tool that runs out of memory may end the server')
    }
  }

  /** Whether threads are watched; where not, V8's own limit is the only one. */
  get works (): boolean {
    return this.#inspector !== undefined
  }

  add (watched: Watched): void {
    if (this.#inspector === undefined) return
    this.#watched.set(watched, { asked_ms: 0, used: 0, pending: false, over_ms: undefined })
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
      if (!(suspicious ??= residentBytes() > this.#bytesMax)) break
      this.#busy_ms = now
      const every = state.used > this.#bytesMax / 2 ? 0 : watched.waiting ? waiting_ms : computing_ms
      if (now - state.asked_ms < (state.pending ? unanswered_ms : every)) continue
      this.#connect()
      const session = this.#threads.get(watched.thread_id)
      if (session === undefined) continue
      state.asked_ms = now
      state.pending = true
      if (state.over_ms !== undefined) this.#collect(session)
      this.#question(session, watched)
    }
    // Threads are slower while it is connected (a third less throughput of trivial tools).
    if (now - this.#busy_ms > linger_ms) this.#disconnect()
    if (this.#watched.size > 0 || this.#session !== undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #question (session: string, watched: Watched): void {
    this.#ask(session, { watched, heap: undefined }, 'Runtime.getHeapUsage', {})
  }

  #ask (session: string, question: Question, method: string, params: JsonObject): void {
    const id = ++this.#questions
    this.#waitingFor.set(`${session} ${id}`, question)
    this.#send(session, { id, method, params })
  }

  #answered (session: string, text: string): void {
    const answer: unknown = JSON.parse(text) // the inspector wrote it
    if (!isObject(answer)) return
    const key = `${session} ${String(answer['id'])}`
    const question = this.#waitingFor.get(key)
    if (question === undefined) return
    this.#waitingFor.delete(key)
    if (!this.#quiet()) { // a thread began to end meanwhile; `#look` asks again when it has ended
      const state = this.#watched.get(question.watched)
      if (state !== undefined) state.pending = false
      return
    }
    const result = isObject(answer['result']) ? answer['result'] : {}
    const { usedSize, backingStorageSize } = result
    if (question.heap !== undefined) return this.#used(session, question.watched, question.heap, valueOf(result) ?? 0)
    if (typeof usedSize !== 'number') return
    if (typeof backingStorageSize === 'number') {
      return this.#used(session, question.watched, usedSize, backingStorageSize)
    }
    // Node 20 and 22: only the thread itself can tell how much its buffers take.
    this.#ask(session, { watched: question.watched, heap: usedSize }, 'Runtime.evaluate', {
      expression: `${externalBytesName}()`, silent: true, returnByValue: true
    })
  }

  #used (session: string, watched: Watched, heap: number, buffers: number): void {
    const state = this.#watched.get(watched)
    if (state === undefined) return
    const now = performance.now()
    state.used = heap + buffers
    if (state.used <= this.#bytesMax) {
      state.pending = false
      state.over_ms = undefined
    } else if (state.over_ms === undefined) {
      // It may be garbage: what counts is what a collection leaves.
      state.over_ms = now
      this.#collect(session)
      this.#question(session, watched)
    } else if (
      heap > this.#bytesMax || state.used > this.#bytesMax + surely.bytes || now - state.over_ms >= surely.ms
    ) {
      this.#watched.delete(watched)
      watched.exhausted()
    } else {
      state.pending = false // and it is asked again
    }
  }

  #collect (session: string): void {
    this.#send(session, { id: ++this.#questions, method: 'HeapProfiler.collectGarbage' })
  }

  #send (sessionId: string, message: JsonObject): void {
    this.#post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(message) })
  }

  #post (method: string, parameters: object): void {
    this.#session?.post(method, parameters, error => {
      if (error !== null) this.#log.debug({ error: messageOf(error) }, 'a thread could not be asked for its memory')
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
      if (thread === undefined) {
        this.#log.warn({ title: workerInfo.title }, 'a script thread\'s memory can\'t be watched')
      } else {
        this.#threads.set(Number(thread), sessionId)
      }
    })
    session.on('NodeWorker.detachedFromWorker', ({ params }) => { this.#forget(params.sessionId) })
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
      this.#answered(params.sessionId, params.message)
    })
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

/** The number that an expression came to. */
function valueOf ({ result }: JsonObject): number | undefined {
  return isObject(result) && typeof result['value'] === 'number' ? result['value'] : undefined
}
