import type { Logger } from '../../../kernel/index.ts'
import type { ConfinedEnd } from '../../toolkit/sandbox/confined-program.ts'
import type { Run } from '../main/run.ts'
import { begin_ms, slow_ms, type Limits } from '../shared/limits.ts'
import { speech, type Ended } from '../shared/protocol.ts'
import { ProcessCall } from './call.ts'
import { batchOf, runOf } from './message.ts'
import type { Said, ScriptProcess, Worker } from './script-process.ts'

export interface WorkEvents {
  /** The tool waits: its process computes nothing for now. */
  waiting (): void
  /** A run did not begin: it must run in another process. `end`: of the process, where no other run was to blame. */
  again (run: Run, end: ConfinedEnd | undefined): void
  /** One run has the process to itself from now on. */
  alone (): void
  /** It is over. `spent`: the process is of no more use, or has ended. */
  over (process: Ended['thread']): void
}

const unknown = 'word of a run that it does not have'
let numbers = 0

/**
 * One run, or a batch of runs of short tools, in a process. A run that blocks, or ends the process, harms no other:
 * those that had ended keep their results, and those that had not begun run in another process.
 *
 * Whether a run has begun is known for sure, since the process says so before it calls the tool. So a run is taken back
 * only when the process has ended, has answered that it will not begin the run, or has said that it begins no more.
 */
export class Work implements Worker {
  /** performance.now() when it was given. */
  readonly since_ms = performance.now()
  readonly calls: readonly ProcessCall[]
  readonly #process: ScriptProcess
  readonly #events: WorkEvents
  readonly #first: number
  /** The index of the next call that may begin. */
  #next = 0
  /** The call that has begun and has not ended. */
  #current: ProcessCall | undefined
  /** No further call begins. */
  #last = false
  #timer: NodeJS.Timeout | undefined
  /** performance.now() when a run was last given, begun or ended. */
  #moved_ms = this.since_ms
  #lines = 0
  #progress = 0

  /** Gives the runs to the process. Several are a batch. */
  constructor (
    runs: readonly Run[], process: ScriptProcess, { limits, log }: { limits: Limits, log: Logger }, events: WorkEvents
  ) {
    this.#process = process
    this.#events = events
    this.#first = numbers + 1
    numbers += runs.length
    this.calls = runs.map((run, i) => new ProcessCall(run, this.#first + i, runs.length > 1, limits, {
      place: process.place,
      log,
      ask: () => { process.ask(this.#first + i) },
      kill: () => { void process.end() }
    }))
    const [run] = runs
    this.#timer = setTimeout(() => { this.#look() }, this.#isBatch ? slow_ms : begin_ms)
    if (run !== undefined) {
      const { module } = process.place
      process.execute(this.#isBatch ? batchOf(runs, this.#first, module) : runOf(run, this.#first, module), this)
    }
  }

  get waiting (): boolean {
    return this.#current?.waiting === true
  }

  cancel (): void {
    for (const call of this.calls) call.cancel()
  }

  /** The process uses more memory than it may: by the run it is at. */
  exhaust (): void {
    const call = this.#current ?? this.calls[this.#next]
    if (call === undefined || call.stage === 'given') void this.#process.end()
    else call.exhaust()
  }

  hear (message: Said): string | undefined {
    const call = this.calls[message.run - this.#first]
    if (call === undefined) return unknown
    switch (message.type) {
      case 'recalled': return this.#recalled(call)
      case 'loading':
        if (this.#isBatch || call.stage !== 'given') return unknown
        call.load()
        return undefined
      case 'started': return this.#started(call)
      case 'ended': return this.#ended(call, message)
      case 'told':
        if (!this.#isBatch || call !== this.#current) return unknown
        this.#current = undefined
        this.#moved_ms = performance.now()
        call.conclude(message.result, message.ran_ms)
        return undefined
      case 'waiting':
        if (call !== this.#current || call.waiting) return unknown
        call.waiting = true
        if (this.#isBatch) this.#leaveAlone(call)
        this.#giveBack()
        this.#events.waiting()
        return undefined
      case 'log':
      case 'progress':
        if (call !== this.#current || !this.#allows(message.type)) return unknown
        call.run.heard(message)
        return undefined
    }
  }

  refused (message: string): void {
    this.#current?.refused(message)
  }

  died (end: ConfinedEnd): void {
    clearTimeout(this.#timer)
    const guilty = this.#current !== undefined
    for (const call of this.calls.toReversed()) {
      if (call.died(end)) this.#events.again(call.run, guilty ? undefined : end)
    }
    this.#events.over('spent')
  }

  get #isBatch (): boolean {
    return this.calls.length > 1
  }

  #started (call: ProcessCall): string | undefined {
    const index = call.number - this.#first
    const mayBegin = call.stage === 'given' || (call.stage === 'loading' && !this.#isBatch)
    if (!mayBegin || this.#current !== undefined || this.#last || index < this.#next) return unknown
    this.#next = index + 1
    this.#current = call
    this.#process.loaded = true
    this.#process.begin()
    call.begin()
    if (!this.#isBatch) call.limit()
    return undefined
  }

  /** An answer may come late: then the run was given back before. */
  #recalled (call: ProcessCall): string | undefined {
    if (!call.asked || call.stage === 'loading' || call.stage === 'begun') return unknown
    call.giveBack()
    return undefined
  }

  #ended (call: ProcessCall, { run, result, ran_ms, thread }: Ended): string | undefined {
    if (run !== this.#first || result.kind === 'recalled' || (result.kind === 'board') !== this.#isBatch) return unknown
    if (result.kind === 'board') {
      if (this.#current !== undefined) return 'no result of a run that it had begun'
      if (this.calls.every(({ stage }) => stage === 'given')) return 'the end of runs of which it had begun none'
    } else {
      if (result.kind === 'output' && call.stage !== 'begun') return unknown
      this.#current = undefined
      call.conclude(result, ran_ms)
    }
    clearTimeout(this.#timer)
    this.#giveBack()
    this.#process.release(thread === 'settling')
    this.#events.over(thread)
    return undefined
  }

  /** What has not begun runs elsewhere, before what came later. */
  #giveBack (): void {
    this.#last = true
    for (const call of this.calls.toReversed()) if (call.giveBack()) this.#events.again(call.run, undefined)
  }

  /** Whether a run of a batch takes longer than those of short tools do, and whether any begins. */
  #look (): void {
    const current = this.#current
    if (current !== undefined && current.ago_ms >= slow_ms) this.#leaveAlone(current)
    const mayBegin = current === undefined && this.calls.some(({ stage }) => stage === 'given')
    if (mayBegin && performance.now() - this.#moved_ms >= begin_ms) return void this.#process.end()
    if (this.#isBatch) this.#timer = setTimeout(() => { this.#look() }, slow_ms)
  }

  #leaveAlone (call: ProcessCall): void {
    call.limit()
    this.#events.alone()
  }

  /** Whether a process may say so much. */
  #allows (type: 'log' | 'progress'): boolean {
    const runs = this.calls.length
    if (type === 'log') return ++this.#lines <= runs * (speech.lines + 1)
    // The first and the last of each, and those between by the clock; twice, since clocks and timers are not exact.
    return ++this.#progress <= 2 * (runs + (performance.now() - this.since_ms) / speech.progress_ms + 1)
  }
}
