import type { LoggingLevel, ServerContext } from '@modelcontextprotocol/server'
import type { Bus, Events, LogLevel } from '../../../kernel/index.ts'

/**
 * How often a client is notified that its call still runs, in milliseconds: clients give up after a minute of silence.
 */
const heartbeat_ms = 15_000
/** The number of notifications of a kind that may be sent at once, and the interval after that, in milliseconds. */
const burst = { count: 32, then_ms: 100 }
/**
 * The shortest time between the last progress notification and the answer, in milliseconds. Clients up to 1.x of the
 * SDK delete a call's progress token when they read its answer, and so lose progress that came in the same read. So the
 * two should not arrive in one read.
 */
const gap_ms = 2
/** The number of lines that a call may log; further lines are only counted. */
const linesMax = 2_000

const levels =
  { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const satisfies Record<LogLevel, LoggingLevel>

/** Notifies clients of progress and log lines of the tools in their running calls. One listener serves all calls. */
export class Reports {
  readonly #running = new Map<string, Report>()
  readonly #stop: (() => void)[]
  readonly #heartbeat_ms: number

  constructor (bus: Bus, beat_ms = heartbeat_ms) {
    this.#heartbeat_ms = beat_ms
    this.#stop = [
      bus.on('progress', event => { this.#running.get(event.execution_id)?.progress(event) }),
      bus.on('log', event => { this.#running.get(event.execution_id)?.line(event) })
    ]
  }

  /** Begins the report of a call; the caller must end it. */
  begin (ctx: ServerContext, logger: string): Report {
    return new Report(ctx, logger, this.#running, this.#heartbeat_ms)
  }

  close (): void {
    for (const stop of this.#stop) stop()
  }
}

/** The notifications to the client of one call: progress where the client sent a token, and log lines. */
class Report {
  readonly #ctx: ServerContext
  readonly #logger: string
  readonly #running: Map<string, Report>
  readonly #token: string | number | undefined
  readonly #heartbeat: NodeJS.Timeout | undefined
  #id: string | undefined
  #ended = false
  #lines = 0
  #sent = 0
  #last = Number.NEGATIVE_INFINITY
  #told_ms = Number.NEGATIVE_INFINITY
  #total: number | undefined
  /** The newest progress that was not sent yet. */
  #waiting: Events['progress'] | undefined
  #timer: NodeJS.Timeout | undefined

  constructor (ctx: ServerContext, logger: string, running: Map<string, Report>, beat_ms: number) {
    this.#ctx = ctx
    this.#logger = logger
    this.#running = running
    this.#token = ctx.mcpReq._meta?.progressToken
    if (this.#token !== undefined) {
      this.#heartbeat = setInterval(() => { this.#advance(this.#last, undefined) }, beat_ms).unref()
    }
  }

  /** Reports the progress and the log lines of this execution from now on. */
  follow (execution_id: string): void {
    this.#id = execution_id
    this.#running.set(execution_id, this)
  }

  progress (event: Events['progress']): void {
    if (this.#token === undefined) return
    this.#waiting = event
    if (this.#sent++ < burst.count) this.#flush()
    else this.#timer ??= setTimeout(() => { this.#flush() }, burst.then_ms).unref()
  }

  line ({ level, text }: Events['log']): void {
    if (++this.#lines > linesMax) return
    this.#log(level, text)
  }

  /** Ends the report; resolves when the answer may be sent. */
  async end (): Promise<void> {
    const justTold = this.#flush() || performance.now() - this.#told_ms < gap_ms
    if (this.#lines > linesMax) this.#log('warn', `${this.#lines - linesMax} more lines were left out`)
    this.#ended = true
    clearInterval(this.#heartbeat)
    if (this.#id !== undefined) this.#running.delete(this.#id)
    if (!justTold) return
    // in a long turn of the event loop, a timer can be due at the end of the same turn
    await new Promise(resolve => { setImmediate(resolve) })
    await new Promise(resolve => { setTimeout(resolve, gap_ms) })
  }

  /** @returns whether there was progress to send */
  #flush (): boolean {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const event = this.#waiting
    if (event === undefined) return false
    this.#waiting = undefined
    this.#total = event.total
    this.#advance(event.done, event.message)
    return true
  }

  /**
   * Progress must increase with each notification, whatever the tool reports: progress that does not increase is sent
   * with the smallest possible increase.
   */
  #advance (done: number, message: string | undefined): void {
    if (this.#ended || this.#token === undefined) return
    const least = this.#last === Number.NEGATIVE_INFINITY ? 0 : this.#last + Math.max(1e-6, Math.abs(this.#last) * 1e-9)
    this.#last = Number.isFinite(done) && done > this.#last ? done : least
    this.#told_ms = performance.now()
    const total = this.#total
    const params = {
      progressToken: this.#token, progress: this.#last, ...(total !== undefined && { total }),
      ...(message !== undefined && { message })
    }
    this.#ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}) // the client left
  }

  #log (level: LogLevel, text: string): void {
    this.#ctx.mcpReq.log(levels[level], text, this.#logger).catch(() => {}) // the client left
  }
}
