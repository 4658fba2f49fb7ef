import type { LoggingLevel, ServerContext } from '@modelcontextprotocol/server'
import type { Bus, Events, LogLevel } from '../../../kernel/index.ts'

/** How often a call is told to be alive, in milliseconds: clients give up after a minute of silence. */
const heartbeat_ms = 15_000
/** Notifications of a kind that may go out at once, and how often after that, in milliseconds. */
const burst = { count: 32, then_ms: 100 }
/**
 * How long after the last progress an answer goes out at the soonest, in milliseconds. Clients up to 1.x of the SDK
 * forget a call's token when they read its answer, and with it the progress that came in the same read: so the two
 * should not come in one.
 */
const gap_ms = 2
/** Lines a call may log; what comes after is counted. */
const linesMax = 2_000

const levels = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const satisfies Record<LogLevel, LoggingLevel>

/** Tells clients of their running calls what the tools say. One listener serves all calls. */
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

  /** Begins the report of a call, which must be ended. */
  begin (ctx: ServerContext, logger: string): Report {
    return new Report(ctx, logger, this.#running, this.#heartbeat_ms)
  }

  close (): void {
    for (const stop of this.#stop) stop()
  }
}

/** What one call's client is told: progress where it gave a token, and lines. */
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
  /** The newest progress, while it waits for its turn. */
  #waiting: Events['progress'] | undefined
  #turn: NodeJS.Timeout | undefined

  constructor (ctx: ServerContext, logger: string, running: Map<string, Report>, beat_ms: number) {
    this.#ctx = ctx
    this.#logger = logger
    this.#running = running
    this.#token = ctx.mcpReq._meta?.progressToken
    if (this.#token !== undefined) this.#heartbeat = setInterval(() => { this.#advance(this.#last, undefined) }, beat_ms).unref()
  }

  /** Reports what this execution says from now on. */
  follow (execution_id: string): void {
    this.#id = execution_id
    this.#running.set(execution_id, this)
  }

  progress (event: Events['progress']): void {
    if (this.#token === undefined) return
    this.#waiting = event
    if (this.#sent++ < burst.count) this.#flush()
    else this.#turn ??= setTimeout(() => { this.#flush() }, burst.then_ms).unref()
  }

  line ({ level, text }: Events['log']): void {
    if (++this.#lines > linesMax) return
    this.#log(level, text)
  }

  /** Nothing more is told; resolves when the answer may go out. */
  async end (): Promise<void> {
    const justTold = this.#flush() || performance.now() - this.#told_ms < gap_ms
    if (this.#lines > linesMax) this.#log('warn', `${this.#lines - linesMax} more lines were left out`)
    this.#ended = true
    clearInterval(this.#heartbeat)
    if (this.#id !== undefined) this.#running.delete(this.#id)
    if (!justTold) return
    await new Promise(resolve => { setImmediate(resolve) }) // a timer that is set in a long turn can be due within it
    await new Promise(resolve => { setTimeout(resolve, gap_ms) })
  }

  /** @returns whether there was something to tell */
  #flush (): boolean {
    clearTimeout(this.#turn)
    this.#turn = undefined
    const event = this.#waiting
    if (event === undefined) return false
    this.#waiting = undefined
    this.#total = event.total
    this.#advance(event.done, event.message)
    return true
  }

  /**
   * Progress must increase with each notification, whatever the tool says: what does not, moves on by as little as can
   * be.
   */
  #advance (done: number, message: string | undefined): void {
    if (this.#ended || this.#token === undefined) return
    const least = this.#last === Number.NEGATIVE_INFINITY ? 0 : this.#last + Math.max(1e-6, Math.abs(this.#last) * 1e-9)
    this.#last = Number.isFinite(done) && done > this.#last ? done : least
    this.#told_ms = performance.now()
    const total = this.#total
    const params = { progressToken: this.#token, progress: this.#last, ...(total !== undefined && { total }), ...(message !== undefined && { message }) }
    this.#ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}) // the client left
  }

  #log (level: LogLevel, text: string): void {
    this.#ctx.mcpReq.log(levels[level], text, this.#logger).catch(() => {}) // the client left
  }
}
