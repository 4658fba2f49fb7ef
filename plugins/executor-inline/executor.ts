import {
  abortSignalOf, messageOf, outputBytesStop, outputOf, SkilletError, splitInstance,
  type CancelSignal, type Executor, type JsonObject, type Outcome, type Output, type Task, type TaskObserver
} from '../../kernel/index.ts'

/** What a function is given beside its parameters. */
export interface InlineContext {
  readonly signal: AbortSignal
  readonly config: JsonObject
  readonly secrets: Readonly<Record<string, string>>
  readonly execution_id: string
  progress (done: number, total?: number, message?: string): void
  log (level: 'debug' | 'info' | 'warn' | 'error', text: string): void
  /** Waits until a person has approved what the tool is about to do; throws where nobody did. */
  approve (preview: string): Promise<void>
}

/**
 * A tool: what it returns, or resolves to, is the output; a string as it is, anything else as JSON. A throw is a
 * failure.
 */
export type InlineTool = (parameters: JsonObject, context: InlineContext) => unknown

interface Options {
  runtime: string
  tools: Readonly<Record<string, InlineTool>>
  concurrency: number
  outputBytesMax: number
}

const nothing: Output = { output: '', output_truncated: false }

/** Runs functions on the main thread, first come, first served. */
export class InlineExecutor implements Executor {
  readonly runtime: string
  readonly #options: Options
  readonly #queue = new Set<() => void>()
  readonly #closing = new AbortController()
  #active = 0

  constructor (options: Options) {
    this.runtime = options.runtime
    this.#options = options
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closing.signal.aborted) {
      throw new SkilletError('OVERLOADED', 'The executor is stopping and takes no new runs')
    }
    const stop = AbortSignal.any([abortSignalOf(signal), this.#closing.signal])
    if (!await this.#waitForTurn(stop)) return { status: 'cancelled', ...nothing }
    try {
      return await this.#perform(task, observer, stop)
    } finally {
      this.#active--
      this.#next()
    }
  }

  /** Cancels everything. */
  close (): void {
    this.#closing.abort()
  }

  /** Waits for a turn. @returns false when it was aborted before it came */
  async #waitForTurn (stop: AbortSignal): Promise<boolean> {
    if (stop.aborted) return false
    if (this.#active < this.#options.concurrency) {
      this.#active++
      return true
    }
    return await new Promise(resolve => {
      const dropped = (): void => {
        this.#queue.delete(begin)
        resolve(false)
      }
      const begin = (): void => {
        stop.removeEventListener('abort', dropped)
        this.#active++
        resolve(true)
      }
      this.#queue.add(begin)
      stop.addEventListener('abort', dropped, { once: true })
    })
  }

  #next (): void {
    for (const begin of this.#queue) {
      this.#queue.delete(begin)
      begin()
      return
    }
  }

  async #perform (task: Task, observer: TaskObserver, stop: AbortSignal): Promise<Outcome> {
    // Whoever waited for the turn may have been aborted since.
    if (stop.aborted) return { status: 'cancelled', ...nothing }
    observer.started('none')
    const ending = new AbortController()
    return await new Promise<Outcome>(resolve => {
      const end = (outcome: Outcome): void => {
        clearTimeout(timer)
        stop.removeEventListener('abort', abort)
        resolve(outcome)
      }
      const abort = (): void => {
        end({ status: 'cancelled', ...nothing })
        ending.abort()
      }
      const expire = (): void => {
        end({ status: 'timeout', ...nothing })
        ending.abort()
      }
      let timer = setTimeout(expire, task.timeout_ms)
      let left_ms = task.timeout_ms
      let resumed_ms = performance.now()
      /** The time limit does not run while somebody thinks. */
      const approve = async (preview: string): Promise<void> => {
        clearTimeout(timer)
        left_ms -= performance.now() - resumed_ms
        await observer.approve?.(preview, ending.signal)
        resumed_ms = performance.now()
        timer = setTimeout(expire, left_ms)
      }
      stop.addEventListener('abort', abort, { once: true })
      this.#call(task, observer, approve, ending.signal).then(end, (error: unknown) => {
        end({ status: 'failed', ...nothing, error: { message: messageOf(error), details: {} } })
      })
    })
  }

  async #call (
    { skill, tool, parameters, config, secrets = {}, execution_id }: Task,
    observer: TaskObserver,
    approve: InlineContext['approve'],
    signal: AbortSignal
  ): Promise<Outcome> {
    const name = `${splitInstance(skill.name).skill}:${tool.name}`
    const { tools, outputBytesMax } = this.#options
    const run = Object.hasOwn(tools, name) ? tools[name] : undefined
    if (run === undefined) throw new Error(`${name} has no function`)
    const value = await run(parameters, {
      signal,
      config,
      secrets,
      execution_id,
      approve,
      progress: (done, total, message) => { if (!signal.aborted) observer.progress(done, total, message) },
      log: (level, text) => { if (!signal.aborted) observer.log(level, text) }
    })
    const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
    const bytes = Buffer.byteLength(text)
    const output = outputOf(text, outputBytesMax, bytes)
    if (bytes <= outputBytesStop) return { status: 'success', ...output }
    return {
      status: 'failed',
      ...output,
      error: { message: `${name} put out more than 16 MiB and was stopped`, details: {} }
    }
  }
}
