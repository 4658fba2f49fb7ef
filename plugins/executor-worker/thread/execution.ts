import type { LogLevel, ToolContext } from '../../../kernel/index.ts'
import { speech, type FromThread, type Of } from '../shared/protocol.ts'
import { later } from './leftovers.ts'
import { bounded } from './text.ts'

/** What one execution may log in all. */
const charactersMax = 1_048_576
const { lines: linesMax, line_characters: lineMax, progress_ms, progress_characters: progressMessageMax } = speech

/** What an execution is told of itself. */
export type ExecutionMessage = Pick<Of<'run'>, 'run' | 'execution_id' | 'config' | 'secrets'>

/** One execution in this thread: what it is told, and what it says. */
export class Execution {
  readonly message: ExecutionMessage
  readonly #send: (message: FromThread) => void
  #controller: AbortController | undefined
  #abortRequested = false
  #lines = 0
  #characters = 0
  #told_ms = -Infinity
  #progress: Of<'progress'> | undefined
  #stopProgress: (() => void) | undefined
  /** Whether it has sent progress or a log line. */
  spoke = false
  ended = false
  /** Ends it as failed, by an error that came beside its own promise. */
  fail: ((error: unknown) => void) | undefined

  constructor (message: ExecutionMessage, send: (message: FromThread) => void) {
    this.message = message
    this.#send = send
  }

  /** Aborts the tool's signal. */
  ask (): void {
    this.#abortRequested = true
    this.#controller?.abort()
  }

  /** What the tool is given. Works destructured, too. */
  context (): ToolContext {
    const signal = (): AbortSignal => this.#signal()
    return {
      get signal () { return signal() },
      config: deepFreeze(this.message.config),
      secrets: deepFreeze(this.message.secrets),
      execution_id: this.message.execution_id,
      progress: (done, total, message) => { this.#report(done, total, message) },
      log: (level, text) => { this.log(levelOf(level), typeof text === 'string' ? text : String(text)) }
    }
  }

  log (level: LogLevel, text: string): void {
    if (this.ended || this.#lines > linesMax) return
    this.#characters += Math.min(text.length, lineMax)
    const over = ++this.#lines > linesMax || this.#characters > charactersMax
    if (over) this.#lines = linesMax + 1
    this.spoke = true
    this.#send({
      type: 'log', run: this.message.run,
      level: over ? 'warn' : level,
      text: over
        ? `[the log ends here: an execution may log ${linesMax} lines and ${charactersMax} characters]`
        : bounded(text, lineMax)
    })
  }

  /** Nothing is heard of it from now on. */
  end (): void {
    if (this.#progress !== undefined) this.#tell(this.#progress)
    this.#stopProgress?.()
    this.ended = true
  }

  /** Made when it is first asked for: a controller and its signal cost three microseconds, most of a trivial run. */
  #signal (): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortRequested) this.#controller.abort()
    }
    return this.#controller.signal
  }

  #report (done: unknown, total: unknown, message: unknown): void {
    if (this.ended || !isAmount(done)) return
    const progress: Of<'progress'> = {
      type: 'progress', run: this.message.run, done,
      total: isAmount(total) ? total : undefined,
      message: message === undefined ? undefined : bounded(String(message), progressMessageMax)
    }
    const wait_ms = this.#told_ms + progress_ms - performance.now()
    if (wait_ms <= 0) return this.#tell(progress)
    this.#progress = progress
    this.#stopProgress ??= later(wait_ms, () => { if (this.#progress !== undefined) this.#tell(this.#progress) })
  }

  #tell (progress: Of<'progress'>): void {
    this.#stopProgress?.()
    this.#stopProgress = this.#progress = undefined
    this.#told_ms = performance.now()
    this.spoke = true
    this.#send(progress)
  }
}

function isAmount (value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function levelOf (level: unknown): LogLevel {
  return level === 'debug' || level === 'warn' || level === 'error' ? level : 'info'
}

function deepFreeze<T extends object> (value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}
