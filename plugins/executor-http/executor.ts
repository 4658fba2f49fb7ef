import {
  abortSignalOf, compileCheck, messageOf, outputOf, SkilletError, type CancelSignal, type Check, type Executor,
  type JsonObject, type Outcome, type Output, type Task, type TaskObserver, type ToolDefinition
} from '../../kernel/index.ts'
import { explain } from '../toolkit/net/request.ts'
import { Target } from '../toolkit/openapi/target.ts'
import { buildHead } from './build-request.ts'
import { perform, type Answer } from './call.ts'
import { Credentials } from './credentials.ts'

interface Options { requests: number, body_bytes_max: number, output_bytes_max: number }

const nothing: Output = { output: '', output_truncated: false }

/** Runs tools that are operations of web APIs: each run is a request, without a process of its own. */
export class HttpExecutor implements Executor {
  readonly runtime = 'http'
  readonly #options: Options
  readonly #credentials = new Credentials()
  readonly #queue = new Set<() => void>()
  readonly #closing = new AbortController()
  /** The targets that were checked. */
  readonly #targets = new WeakMap<ToolDefinition, Target>()
  #check: Check | undefined
  #active = 0

  constructor (options: Options) {
    this.#options = options
  }

  check (tool: ToolDefinition, parameters: JsonObject): void {
    try {
      buildHead(this.#targetOf(tool), parameters)
    } catch (error) {
      throw new SkilletError('INVALID_PARAMETERS', messageOf(error), { tool: tool.name })
    }
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closing.signal.aborted) {
      throw new SkilletError('OVERLOADED', 'The executor is stopping and takes no new runs')
    }
    const stop = AbortSignal.any([abortSignalOf(signal), this.#closing.signal])
    if (!await this.#waitForTurn(stop)) return { status: 'cancelled', ...nothing }
    try {
      return stop.aborted ? { status: 'cancelled', ...nothing } : await this.#perform(task, observer, stop)
    } finally {
      this.#active--
      const [next] = this.#queue
      next?.()
    }
  }

  /** Cancels everything. */
  close (): void {
    this.#closing.abort()
  }

  /** @returns false when it was aborted before its turn came */
  async #waitForTurn (stop: AbortSignal): Promise<boolean> {
    if (stop.aborted) return false
    if (this.#active < this.#options.requests) {
      this.#active++
      return true
    }
    return await new Promise(resolve => {
      const end = (isTurn: boolean): void => {
        this.#queue.delete(begin)
        stop.removeEventListener('abort', drop)
        if (isTurn) this.#active++
        resolve(isTurn)
      }
      const drop = (): void => { end(false) }
      const begin = (): void => { end(true) }
      this.#queue.add(begin)
      stop.addEventListener('abort', drop, { once: true })
    })
  }

  async #perform (task: Task, observer: TaskObserver, stop: AbortSignal): Promise<Outcome> {
    const { skill, tool, parameters, timeout_ms, config, secrets = {} } = task
    const { body_bytes_max } = this.#options
    const limit = AbortSignal.timeout(timeout_ms)
    const signal = AbortSignal.any([stop, limit])
    const until_ms = performance.now() + timeout_ms
    const { private_paths } = config
    const paths = Array.isArray(private_paths) ? private_paths.filter(path => typeof path === 'string') : []
    observer.started('none')
    try {
      const call = { skill, target: this.#targetOf(tool), parameters, secrets, private_paths: paths }
      return this.#outcome(await perform(call, this.#credentials, { body_bytes_max, until_ms, signal }))
    } catch (error) {
      if (stop.aborted) return { status: 'cancelled', ...nothing }
      if (limit.aborted) return { status: 'timeout', ...nothing }
      return { status: 'failed', ...nothing, error: { message: `${tool.name}: ${explain(error)}`, details: {} } }
    }
  }

  #outcome ({ text, failure }: Answer): Outcome {
    const output = outputOf(text, this.#options.output_bytes_max)
    if (failure === undefined) return { status: 'success', ...output }
    return { status: 'failed', ...output, error: { message: failure.message, details: { status: failure.status } } }
  }

  /** @throws Error when the source of the skill gave a tool something else */
  #targetOf (tool: ToolDefinition): Target {
    const known = this.#targets.get(tool)
    if (known !== undefined) return known
    this.#check ??= compileCheck(Target, 'target', { checked: true })
    const fault = this.#check(tool.target)
    if (fault !== undefined) throw new Error(`the tool ${tool.name} can't be called: ${fault}`)
    const target = tool.target as Target // the check above guarantees the type
    this.#targets.set(tool, target)
    return target
  }
}
