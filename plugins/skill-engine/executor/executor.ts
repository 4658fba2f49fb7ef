import {
  SkilletError, type CancelSignal, type Executor, type JsonObject, type Outcome, type Task, type TaskObserver,
  type ToolDefinition
} from '../../../kernel/index.ts'
import { buildWords } from '../run/build-words.ts'
import { variablesOf, type RunSettings, type Target } from '../run/settings.ts'
import { commandMark } from '../run/split-command.ts'
import { readVector } from './read-vector.ts'
import { targetOf } from './target.ts'
import { cleanerOf, hasSecrets, withoutSecrets } from './without-secrets.ts'

/**
 * Runs tools of the Skill Engine's skills: their code by the executor of scripts, and commands by the executor of
 * commands, with its sandbox and its limits. A result of code that is a command is run in a second step.
 */
export class EngineExecutor implements Executor {
  readonly runtime = 'skill-engine'
  #executors: ReadonlyMap<string, Executor> = new Map()

  connect (executors: ReadonlyMap<string, Executor>): void {
    this.#executors = executors
  }

  check (tool: ToolDefinition, parameters: JsonObject): void {
    const target = targetOf(tool)
    if (target.kind === 'words') buildWords(target.declared, parameters)
  }

  prepare (): void {
    this.#executors.get('script')?.prepare?.()
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    const target = targetOf(task.tool)
    switch (target.kind) {
      case 'refused': return failed(target.message)
      case 'words': {
        const { command, declared, settings } = target
        const words = [...command, ...buildWords(declared, task.parameters)]
        return await this.#runCommand(words, settings, task, observer, signal)
      }
      case 'script': return await this.#runScript(target, task, observer, signal)
    }
  }

  async #runScript (
    { settings, programs }: Target & { kind: 'script' }, task: Task, observer: TaskObserver, signal: CancelSignal
  ): Promise<Outcome> {
    const { skill, tool } = task
    let began_ms = performance.now()
    const clean = cleanerOf(settings)
    const first: TaskObserver = {
      started (isolation, ago_ms = 0) {
        began_ms = performance.now() - ago_ms
        observer.started(isolation, ago_ms)
      },
      progress: (done, total, text) => { observer.progress(done, total, text === undefined ? text : clean(text)) },
      log: (level, text) => { observer.log(level, clean(text)) }
    }
    const script = {
      ...task,
      skill: { ...skill, runtime: 'script' },
      tool: { ...tool, runtime: 'script' },
      ...asSecrets(settings, task.secrets)
    }
    const outcome = withoutSecrets(await this.#executor('script').run(script, first, signal), settings)
    if (outcome.status !== 'success' || !outcome.output.startsWith(commandMark)) return outcome
    const vector = readVector(outcome, programs)
    if (!Array.isArray(vector)) return vector
    const left_ms = Math.ceil(task.timeout_ms - (performance.now() - began_ms))
    if (left_ms <= 0) return { status: 'timeout', output: '', output_truncated: false }
    const second = { ...relay(observer, settings), started: () => {} } // it has started in the first step
    return await this.#runCommand(vector, settings, { ...task, timeout_ms: left_ms }, second, signal)
  }

  /** Runs an argument vector, without a shell. */
  async #runCommand (
    [program = '', ...words]: readonly string[], settings: RunSettings, task: Task, observer: TaskObserver,
    signal: CancelSignal
  ): Promise<Outcome> {
    const { skill, tool } = task
    const variables = variablesOf(settings, task.secrets)
    const command = {
      program,
      parts: words.map(literal => ({ kind: 'argument' as const, pieces: [{ literal }] })),
      env: Object.fromEntries(Object.entries(variables).map(([name, literal]) => [name, [{ literal }]])),
      dashes: []
    }
    const native = {
      ...task,
      skill: { ...skill, runtime: 'native' },
      tool: { ...tool, runtime: 'native', command },
      parameters: {}
    }
    return withoutSecrets(await this.#executor('native').run(native, relay(observer, settings), signal), settings)
  }

  #executor (runtime: string): Executor {
    const executor = this.#executors.get(runtime)
    if (executor === undefined) {
      throw new SkilletError('OVERLOADED', `No executor for the runtime "${runtime}" is running`, { runtime })
    }
    return executor
  }
}

/**
 * Settings for the script thread. Those that are secret go the way of the user's secrets, so that the thread runs no
 * other skill afterwards.
 */
function asSecrets (settings: RunSettings, secrets: Task['secrets']): Pick<Task, 'config' | 'secrets'> {
  const entries = Object.entries(settings.config)
  const isSecret = ([key]: [string, string]): boolean => settings.secret_keys.includes(key)
  const all = { ...Object.fromEntries(entries.filter(isSecret)), ...secrets }
  const config = Object.fromEntries(entries.filter(entry => !isSecret(entry)))
  return { config: { skill_engine: { ...settings, config } }, ...(Object.keys(all).length > 0 && { secrets: all }) }
}

/** An observer that passes all on, but for live output that could hold a secret setting. */
function relay (observer: TaskObserver, settings: RunSettings): TaskObserver {
  const { output } = observer
  return {
    started: (...started) => { observer.started(...started) },
    progress: (...progress) => { observer.progress(...progress) },
    log: (...line) => { observer.log(...line) },
    ...(output !== undefined && !hasSecrets(settings) && {
      output: (text, stream) => { output.call(observer, text, stream) }
    })
  }
}

function failed (message: string): Outcome {
  return { status: 'failed', output: '', output_truncated: false, error: { message, details: {} } }
}
