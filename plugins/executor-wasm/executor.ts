import {
  SkilletError, type CancelSignal, type CommandTemplate, type Executor, type JsonObject, type Outcome, type Task,
  type TaskObserver, type ToolDefinition
} from '../../kernel/index.ts'
import { expandCommand } from '../toolkit/expand-command.ts'
import type { WasmRun } from '../toolkit/wasm/host/commands.ts'
import { outcomeOf } from './outcome.ts'
import { preopensOf } from './preopens.ts'
import { variablesOf } from './variables.ts'

interface Options {
  /** How much of what a command puts out is kept, in bytes. */
  output_bytes_max: number
  /** What the memories of a command may take together, in bytes. */
  memory_bytes_max: number
}

/**
 * Runs commands in WebAssembly. Their source has built each skill into a module that presents them as script tools, so
 * they have what scripts have: the queue, the time limit, and the sandbox. What a command is given is put into the
 * configuration of its run.
 */
export class WasmExecutor implements Executor {
  readonly runtime = 'wasm'
  readonly #options: Options
  #scripts: Executor | undefined

  constructor (options: Options) {
    this.#options = options
  }

  connect (executors: ReadonlyMap<string, Executor>): void {
    this.#scripts = executors.get('script')
  }

  check (tool: ToolDefinition, parameters: JsonObject): void {
    expandCommand(templateOf(tool), parameters)
  }

  prepare (): void {
    this.#scripts?.prepare?.()
  }

  async run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome> {
    if (this.#scripts === undefined) throw new SkilletError('OVERLOADED', 'No executor of scripts is running')
    const { skill, tool } = task
    const { args, stdin = '', env } = expandCommand(templateOf(tool), task.parameters)
    const preopens = preopensOf(task)
    if ('fault' in preopens) return failed(`${skill.name}:${tool.name} could not be started: ${preopens.fault}`)
    const { output_bytes_max, memory_bytes_max } = this.#options
    const wasm: WasmRun = {
      args, stdin, env: variablesOf(task, env), preopens: preopens.found, output_bytes_max, memory_bytes_max
    }
    const script: Task = {
      ...task,
      skill: {
        ...skill,
        runtime: 'script',
        // What it is not given need not be open to its process either.
        permissions: { ...skill.permissions, network: false, env: [], read: skill.permissions.read ?? [] }
      },
      tool: { ...tool, runtime: 'script' },
      config: { wasm }
    }
    return outcomeOf(`${skill.name}:${tool.name}`, await this.#scripts.run(script, observer, signal))
  }
}

function templateOf (tool: ToolDefinition): CommandTemplate {
  if (tool.command === undefined) throw new Error(`the tool ${tool.name} of a skill in WebAssembly has no command`)
  return tool.command
}

function failed (message: string): Outcome {
  return { status: 'failed', output: '', output_truncated: false, error: { message, details: {} } }
}
