import type { Task } from '../../kernel/index.ts'
import { isReadByEngine } from '../toolkit/container/variables.ts'
import type { Command } from '../toolkit/expand-command.ts'
import { engineVariables } from './client.ts'
import type { Engine } from './engine.ts'

/** Makes tasks of the executor of commands that run the program of an engine. */
export class CommandTasks {
  /** What the program is given of the server's environment, by what the skill declares. */
  readonly #environments = new WeakMap<readonly string[], string[]>()

  /**
   * The program of the engine as a task. It runs unconfined, since it needs the engine's socket; what decides what it
   * does are its arguments, which no parameter can make an option of it.
   * @param command the command in the container
   */
  of ({ file, options }: Engine, args: readonly string[], task: Task, { stdin, env }: Command): Task {
    const { skill, tool } = task
    const variables = Object.entries(env).filter(([name]) => !isReadByEngine(name))
    const command = {
      program: file,
      parts: [...options, ...args].map(literal => ({ kind: 'argument' as const, pieces: [{ literal }] })),
      ...(stdin !== undefined && { stdin: [{ literal: stdin }] }),
      cwd: [{ literal: '/' }],
      env: Object.fromEntries(variables.map(([name, literal]) => [name, [{ literal }]])),
      dashes: []
    }
    const { secrets, env: declared } = skill.permissions
    return {
      ...task,
      skill: {
        ...skill, runtime: 'native', trusted: true, reads_files: false,
        permissions: { network: true, write: [], env: this.#environmentOf(declared), secrets }
      },
      tool: { ...tool, runtime: 'native', command },
      parameters: {}
    }
  }

  /** The same list each time, since the executor of commands caches environments by it. */
  #environmentOf (declared: readonly string[]): string[] {
    const cached = this.#environments.get(declared)
    if (cached !== undefined) return cached
    const names = [...new Set([...engineVariables, ...declared])]
    this.#environments.set(declared, names)
    return names
  }
}
