import { setImmediate } from 'node:timers'
import { claims, type Claims } from '../shared/board.ts'
import type { Ended, FromThread, Of, ToolResult } from '../shared/protocol.ts'
import { Execution } from './execution.ts'
import { activeCount, leftOpen, whenClosed } from './leftovers.ts'
import { isLoaded, toolOf, urlOf } from './modules.ts'
import { isThenable, settled } from './promise.ts'
import { failureOf, resultOf } from './text.ts'

/** Taken before any tool could replace them, and look at what others are given. */
const { parse } = JSON
const immediate = setImmediate

/** What a batch needs of its thread. */
export interface Host {
  send (message: FromThread): void
  begin (execution: Execution, env: Record<string, string>): void
  /** Calls a function as that execution's own. */
  as<T> (execution: Execution, call: () => T): T
  end (execution: Execution): void
  keepsTooMuch (): boolean
  /** Ends the thread, since a tool broke what it runs on. */
  giveUp (): void
}

/** A call whose tool was called, and what came of it: undefined while its promise is pending. */
interface Call {
  readonly slot: number
  readonly execution: Execution
  readonly began_ms: number
  end: { result: ToolResult, ran_ms: number, over: boolean } | undefined
}

/**
 * Runs the calls of a batch, each in a turn of the event loop of its own: what a tool has put off to the end of its
 * turn (microtasks, ticks, rejections nobody caught) happens before its call ends and the next begins. A call that
 * waits for something, or leaves something open, is the last: the others are given back.
 */
class Batch {
  readonly #message: Of<'batch'>
  readonly #parameters: readonly unknown[]
  readonly #board: Claims
  readonly #bytesMax: number
  readonly #host: Host
  readonly #before = activeCount()
  #call: Call | undefined
  /** No further call begins. */
  #over = false
  /** The turn after the last call has come. */
  #closed = false

  constructor (message: Of<'batch'>, board: Claims, bytesMax: number, host: Host) {
    this.#message = message
    this.#parameters = parse(message.parameters) as unknown[] // written by the main thread
    this.#board = board
    this.#bytesMax = bytesMax
    this.#host = host
  }

  begin (): void {
    this.#board.clear()
    // Node drains its queues between two immediates. Only the last is active: so they count as one open resource.
    for (let slot = 0; slot < this.#message.tool_of.length; slot++) {
      immediate(() => { this.#try(() => { this.#step(slot) }) }).unref()
    }
    immediate(() => { this.#try(() => { this.#close() }) })
  }

  #try (work: () => void): void {
    try {
      work()
    } catch {
      this.#host.giveUp()
    }
  }

  #step (slot: number): void {
    if (this.#over || !this.#finish()) return
    const { run, tools, tool_of, execution_ids } = this.#message
    const of = tools[tool_of[slot] ?? 0]
    if (of === undefined) return
    const url = urlOf(of.module, of.revision)
    if (!isLoaded(url)) return this.#end('free') // it was given to another thread than was meant
    if (!this.#board.begin(slot, claims.dispatched)) return
    const execution = new Execution(
      { run: run + slot, execution_id: execution_ids[slot] ?? '', config: of.config, secrets: none },
      this.#host.send
    )
    this.#host.begin(execution, of.env)
    const call: Call = { slot, execution, began_ms: performance.now(), end: undefined }
    this.#call = call
    try {
      const tool = toolOf(url, of.tool)
      const value = this.#host.as(execution, () => tool(this.#parameters[slot], execution.context()))
      if (isThenable(value)) void this.#await(call, value)
      else call.end = { result: resultOf(value, this.#bytesMax), ran_ms: performance.now() - call.began_ms, over: true }
    } catch (error) {
      call.end = { result: failureOf(error), ran_ms: performance.now() - call.began_ms, over: true }
    }
  }

  async #await (call: Call, promise: unknown): Promise<void> {
    const end = await this.#host.as(call.execution, () => settled(call.execution, () => promise))
    const result = 'error' in end ? failureOf(end.error) : resultOf(end.value, this.#bytesMax)
    call.end = { result, ran_ms: performance.now() - call.began_ms, over: end.over }
    if (this.#over) this.#try(() => { this.#finish() }) // it waited, and was the last
  }

  /** Ends the call whose tool was called. @returns whether another may begin */
  #finish (): boolean {
    const call = this.#call
    if (call === undefined) return true
    const { slot, execution, end } = call
    if (end === undefined) {
      this.#host.send({ type: 'waiting', run: execution.message.run })
      this.#over = true
      return false
    }
    this.#call = undefined
    this.#host.end(execution)
    // At the end of a batch, and after what took long: it costs as much as a short run.
    const spent = !end.over || ((end.ran_ms >= 1 || this.#closed || this.#over) && this.#host.keepsTooMuch())
    const settling = !spent && leftOpen(this.#before + (this.#closed ? 0 : 1))
    this.#tell(slot, execution, end.result, end.ran_ms)
    if (!spent && !settling && !this.#over) return true
    this.#end(spent ? 'spent' : settling ? 'settling' : 'free')
    return false
  }

  #tell (slot: number, { spoke, message: { run } }: Execution, result: ToolResult, ran_ms: number): void {
    const whole = result.kind !== 'output' || result.bytes <= this.#bytesMax
    if (!spoke && whole && this.#board.put(slot, result, ran_ms)) return
    this.#host.send({ type: 'told', run, result, ran_ms })
    this.#board.tell(slot)
  }

  #close (): void {
    this.#closed = true
    if (!this.#over && this.#finish()) this.#end('free')
  }

  #end (thread: Ended['thread']): void {
    this.#over = true
    this.#host.send({ type: 'ended', run: this.#message.run, result: { kind: 'board' }, ran_ms: 0, thread })
    if (thread === 'settling') {
      whenClosed(this.#before, () => { this.#host.send({ type: 'clean', run: this.#message.run }) })
    }
  }
}

const none = {}

/** Runs a batch, and sends its end. */
export function performBatch (message: Of<'batch'>, board: Claims, bytesMax: number, host: Host): void {
  new Batch(message, board, bytesMax, host).begin()
}
