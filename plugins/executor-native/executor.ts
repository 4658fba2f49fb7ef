import {
  outputBytesStop, SkilletError, type CancelSignal, type CommandTemplate, type Executor, type JsonObject, type Logger,
  type Outcome, type PluginContext, type Task, type TaskObserver, type ToolDefinition
} from '../../kernel/index.ts'
import { expandCommand } from '../toolkit/expand-command.ts'
import { advised } from '../toolkit/sandbox/advice.ts'
import { ConfinementError } from '../toolkit/sandbox/confinement-policy.ts'
import { Environments } from './environment.ts'
import type { HelperAnswer, HelperProcess } from './helper-process.ts'
import type { HelperProgram } from './helper-program.ts'
import { Helpers } from './helpers.ts'
import { liveTexts } from './live-text.ts'
import type { Run } from './run.ts'
import { Refusals } from '../toolkit/network/refusals.ts'
import type { Confiner, Place } from './sandbox/confiner.ts'
import { subjectOf } from './subject.ts'
import { tryHelper } from './try-helper.ts'
import { lost, noOutput, notConfined, outcomeOf, refusalOf, textOf } from './outcome.ts'

/** The time in which runs can end at the close, before they are killed with their helpers, in milliseconds. */
const close_ms = 4_000
const nothingDeclared: readonly string[] = []

interface Options {
  /** The number of commands that run at the same time. */
  processes: number
  helpers: number
  /** The helper in C; undefined when it must not be used. */
  compiled: HelperProgram | undefined
  /** Confines the commands of skills that are not trusted; if it is absent, no command is confined. */
  confiner?: Confiner
  /** The absolute path of the directory for commands that name none. */
  directory: string
  outputBytesMax: number
  liveBytesMax: number // of each stream, what is shown while the command runs
  /** The time limit for a helper to start or to end a command, in milliseconds; after it, the helper counts as dead. */
  answer_ms: number
  log: Logger
  health: PluginContext['health']
}

/** Runs commands through helper processes, in the order of the requests. */
export class NativeExecutor implements Executor {
  readonly runtime = 'native'
  readonly #options: Options
  readonly #helpers: Helpers
  readonly #queue = new Set<Run>()
  readonly #active = new Set<Run>()
  readonly #environments = new Environments()
  #closing = false
  #idle: (() => void) | undefined

  constructor (options: Options) {
    this.#options = options
    this.#helpers = new Helpers(options.helpers, options.compiled, options.log, options.health)
  }

  check (tool: ToolDefinition, parameters: JsonObject): void {
    expandCommand(templateOf(tool), parameters)
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#closing) throw new SkilletError('OVERLOADED', 'The executor is stopping and takes no new runs')
    if (signal.aborted) return { status: 'cancelled', ...noOutput }
    const command = expandCommand(templateOf(task.tool), task.parameters)
    const { confiner, directory, outputBytesMax } = this.#options
    let cancel: (() => void) | undefined
    try {
      const found = confiner?.concerns(task.skill) === true ? confiner.levelOf(task.skill) : undefined
      const level = found instanceof Promise ? await found : found
      // At the level "strict", the folder of the server may be one that the command can't see.
      const subject = subjectOf(task, command, level === 'strict' ? task.skill.directory : directory, outputBytesMax)
      if (this.#closing || signal.aborted) return { status: 'cancelled', ...noOutput } // during the wait
      const outcome = await new Promise<Outcome>((resolve, reject) => {
        const live = observer.output === undefined ? undefined : liveTexts(this.#options.liveBytesMax)
        const run: Run = {
          task, command, subject, level, observer, live, resolve, reject, at: undefined, ending: undefined,
          timer: undefined,
          network: { pass: undefined, refusals: new Refusals(subject.name, observer, this.#options.log) }
        }
        cancel = () => { this.#cancel(run) }
        signal.addEventListener('abort', cancel, { once: true })
        this.#queue.add(run)
        this.#pump()
      })
      return level === undefined ? outcome : advised(outcome, task.skill)
    } catch (error) {
      if (error instanceof ConfinementError) return notConfined(error)
      throw error
    } finally {
      if (cancel !== undefined) signal.removeEventListener('abort', cancel)
    }
  }

  async probe (): Promise<void> {
    if (this.#closing) throw new Error('the executor is stopping')
    if (this.#active.size >= this.#options.processes) return // each active run has a time limit
    const helper = this.#helpers.pick()
    const timer = this.#expectAnswer(helper)
    try {
      const answer = await tryHelper(helper, this.#environments.of(nothingDeclared), 0)
      // The error that the command does not exist would be a sufficient answer too.
      if (answer.type === 'lost') throw new Error(`the helper process died (${answer.reason})`)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Cancels waiting and running commands; resolves when all of them have ended and the helpers have exited. */
  async close (): Promise<void> {
    this.#closing = true
    for (const run of [...this.#queue, ...this.#active]) this.#cancel(run)
    if (this.#active.size > 0) {
      await new Promise<void>(resolve => {
        this.#idle = resolve
        setTimeout(resolve, close_ms).unref()
      })
    }
    await this.#helpers.close()
  }

  #pump (): void {
    for (const run of this.#queue) {
      if (this.#active.size >= this.#options.processes) return
      this.#queue.delete(run)
      this.#active.add(run)
      try {
        this.#launch(run)
      } catch (error) {
        this.#end(run, () => { run.reject(error) })
      }
    }
  }

  /** Chooses a helper and the rules for a command. @throws ConfinementError when the command may not run */
  #place ({ task, subject, level, network }: Run): Place {
    const { confiner } = this.#options
    return level !== undefined && confiner !== undefined
      ? confiner.place(task, subject.cwd, level, message => { network.refusals.add(message) })
      : { helper: this.#helpers.pick(), rules: 0 }
  }

  #launch (run: Run): void {
    const { command, subject, task } = run
    const { helper, rules, limits, pass } = this.#place(run)
    if (limits !== undefined) subject.limits = limits
    run.network.pass = pass
    run.timer = this.#expectAnswer(helper)
    const id = helper.run({
      program: subject.program,
      args: command.args,
      cwd: subject.cwd,
      env: this.#environments.ofRun(task, command, pass?.variables),
      live: run.live !== undefined,
      output_bytes_max: subject.outputBytesMax,
      output_bytes_stop: outputBytesStop,
      rules
    }, command.stdin, (answer, payload) => { this.#take(run, answer, payload) })
    run.at = { helper, id }
  }

  #take (run: Run, answer: HelperAnswer, payload: Buffer): void {
    const { subject, ending } = run
    switch (answer.type) {
      case 'started':
        if (ending === undefined) {
          clearTimeout(run.timer)
          run.timer = setTimeout(() => { this.#stop(run, 'timeout') }, run.task.timeout_ms)
        }
        this.#helpers.works()
        this.#tellStarted(run)
        return
      case 'output': {
        const text = run.live?.[answer.stream].add(payload) ?? ''
        if (text !== '') run.observer.output?.(text, answer.stream)
        return
      }
      case 'ended':
        this.#end(run, () => {
          if (ending === undefined || (ending === 'timeout' && answer.exceeded !== null)) {
            run.resolve(run.network.refusals.explain(outcomeOf(subject, answer, payload)))
          } else {
            run.resolve({ status: ending, ...textOf(payload, answer.stdout_bytes, subject.outputBytesMax) })
          }
        })
        return
      case 'refused':
        this.#end(run, () => {
          run.resolve(ending === 'cancelled'
            ? { status: ending, ...noOutput }
            : refusalOf(subject, answer.why, answer.system_code))
        })
        return
      case 'lost':
        this.#end(run, () => {
          run.resolve(ending === undefined ? lost(subject, answer.reason) : { status: ending, ...noOutput })
        })
        return
      default: answer satisfies never
    }
  }

  #tellStarted (run: Run): void {
    try {
      run.observer.started(run.level ?? 'process')
    } catch (error) {
      run.reject(error) // no caller is left for a later result
      this.#stop(run, 'cancelled')
    }
  }

  #cancel (run: Run): void {
    if (this.#queue.delete(run)) run.resolve({ status: 'cancelled', ...noOutput })
    else if (this.#active.has(run)) this.#stop(run, 'cancelled')
  }

  #stop (run: Run, why: 'timeout' | 'cancelled'): void {
    if (run.ending !== undefined || run.at === undefined) return
    run.ending = why
    clearTimeout(run.timer)
    run.timer = this.#expectAnswer(run.at.helper)
    run.at.helper.stop(run.at.id)
  }

  #expectAnswer (helper: HelperProcess): NodeJS.Timeout {
    const { answer_ms, log } = this.#options
    return setTimeout(() => {
      log.error({ pid: helper.pid }, `a helper process did not answer for ${answer_ms} ms and is ended`)
      helper.kill()
    }, answer_ms)
  }

  #end (run: Run, settle: () => void): void {
    if (!this.#active.delete(run)) return
    clearTimeout(run.timer)
    run.network.pass?.end()
    try {
      settle()
    } catch (error) {
      run.reject(error)
    }
    if (this.#active.size === 0) this.#idle?.()
    if (!this.#closing) this.#pump()
  }
}

function templateOf (tool: ToolDefinition): CommandTemplate {
  if (tool.command === undefined) throw new Error(`the tool ${tool.name} of a native skill has no command`)
  return tool.command
}
