import {
  SkilletError, type CancelSignal, type Executor, type JsonObject, type Outcome, type Task, type TaskObserver,
  type ToolDefinition
} from '../../../kernel/index.ts'
import { buildWords } from '../run/build-words.ts'
import { variablesOf, type RunSettings, type Target } from '../run/settings.ts'
import { commandMark } from '../run/split-command.ts'
import { readVector } from './read-vector.ts'
import { hasSecrets, withoutSecrets } from './without-secrets.ts'

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
    if (target.kind === 'container') argumentsOf(parameters)
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
      case 'container': {
        const words = [...target.command, ...argumentsOf(task.parameters)]
        return await this.#runCommand(words, noSettings, task, observer, signal)
      }
      case 'script': return await this.#runScript(target, task, observer, signal)
    }
  }

  async #runScript (
    { settings, programs }: Target & { kind: 'script' }, task: Task, observer: TaskObserver, signal: CancelSignal
  ): Promise<Outcome> {
    const { skill, tool } = task
    let began_ms = performance.now()
    const first: TaskObserver = {
      started (isolation, ago_ms = 0) {
        began_ms = performance.now() - ago_ms
        observer.started(isolation, ago_ms)
      },
      progress: (...progress) => { observer.progress(...progress) },
      log: (...line) => { observer.log(...line) }
    }
    const script = {
      ...task,
      skill: { ...skill, runtime: 'script' },
      tool: { ...tool, runtime: 'script' },
      config: { skill_engine: settings }
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

const noSettings: RunSettings = { config: {}, env: {}, secret_keys: [] }

/** An observer that passes all on, but for live output that could hold a secret setting. */
function relay (observer: TaskObserver, settings: RunSettings): TaskObserver {
  const { output } = observer
  return {
    started: (...started) => { observer.started(...started) },
    progress: (...progress) => { observer.progress(...progress) },
    log: (...line) => { observer.log(...line) },
    ...(output !== undefined && !hasSecrets(settings) && { output: text => { output.call(observer, text) } })
  }
}

function targetOf ({ name, target }: ToolDefinition): Target {
  if (target === undefined) throw new Error(`the tool ${name} does not say how it is run`)
  return target as unknown as Target // the source of this plugin made it
}

/** The arguments for the program in a container. @throws SkilletError INVALID_PARAMETERS */
function argumentsOf (parameters: JsonObject): string[] {
  const { args = [] } = parameters
  const words = Array.isArray(args) ? args.map(String) : []
  if (words.every(word => !word.includes('\0') && word.isWellFormed())) return words
  const message = 'parameters/args must not hold a NUL or half a character'
  throw new SkilletError('INVALID_PARAMETERS', message, { parameter: 'args' })
}

function failed (message: string): Outcome {
  return { status: 'failed', output: '', output_truncated: false, error: { message, details: {} } }
}
