import type { Task } from '../../../kernel/index.ts'
import { Confinement, ConfinementError, type ConfinementOptions } from '../../toolkit/sandbox/confinement.ts'
import type { RuleBook } from '../../toolkit/sandbox/rules.ts'
import { writablePaths } from '../../toolkit/sandbox/writable-paths.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { ConfinedHelpers } from './confined-helpers.ts'

export interface ConfinerOptions extends ConfinementOptions {
  book: RuleBook
  helpers: ConfinedHelpers | undefined
}

/** Decides which commands are confined, and how. */
export class Confiner extends Confinement {
  readonly #book: RuleBook
  readonly #helpers: ConfinedHelpers | undefined

  constructor (options: ConfinerOptions) {
    super(options)
    this.#book = options.book
    this.#helpers = options.helpers
  }

  /**
   * A helper and rules for a command.
   * @param cwd its absolute working directory
   * @throws ConfinementError when it may not write to a path that its parameters name
   */
  place (task: Task, cwd: string): { helper: HelperProcess, rules: number } {
    if (this.#helpers === undefined) throw new ConfinementError('there is no sandbox')
    const writable = writablePaths(this.#book, task, cwd)
    const { id, paths } = this.#book.rulesFor(task.skill, cwd, writable)
    const helper = this.#helpers.pick({ network: task.skill.permissions.network, writable })
    helper.keepRules(id, paths)
    return { helper, rules: id }
  }

  async close (): Promise<void> {
    await this.settled()
    await this.#helpers?.close()
  }
}
