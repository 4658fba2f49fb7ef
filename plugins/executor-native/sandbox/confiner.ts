import type { Config, Confinement, Task } from '../../../kernel/index.ts'
import { ConfinementError, ConfinementPolicy, type PolicyOptions } from '../../toolkit/sandbox/confinement-policy.ts'
import type { RuleBook } from '../../toolkit/sandbox/rules.ts'
import { writablePaths } from '../../toolkit/sandbox/writable-paths.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { Limits } from '../protocol.ts'
import type { ConfinedHelpers } from './confined-helpers.ts'
import { limitsOf } from './limits.ts'

export interface ConfinerOptions extends PolicyOptions {
  book: RuleBook
  helpers: ConfinedHelpers | undefined
}

/** Where a command runs. */
export interface Place {
  helper: HelperProcess
  /** The id of its rules; 0 where it is not confined. */
  rules: number
  /** What it may use, where it is confined. */
  limits?: Limits
}

/** Decides which commands are confined, and how. */
export class Confiner extends ConfinementPolicy {
  readonly #book: RuleBook
  readonly #helpers: ConfinedHelpers | undefined
  readonly #isolation: Config['isolation']

  constructor (options: ConfinerOptions) {
    super(options)
    this.#book = options.book
    this.#helpers = options.helpers
    this.#isolation = options.isolation
  }

  /**
   * A helper and rules for a command.
   * @param cwd its absolute working directory
   * @throws ConfinementError when it may not write to a path that its parameters name
   */
  place (task: Task, cwd: string, level: Confinement): Place {
    if (this.#helpers === undefined) throw new ConfinementError('there is no sandbox')
    const { skill } = task
    const writable = writablePaths(this.#book, task, cwd)
    const { id, paths } = this.#book.rulesFor(skill, cwd, writable, level === 'strict')
    const helper = this.#helpers.pick({ network: skill.permissions.network, writable, level })
    const limits = limitsOf(skill.permissions, this.#isolation)
    helper.keepRules(id, paths, limits)
    return { helper, rules: id, limits }
  }

  async close (): Promise<void> {
    await this.settled()
    await this.#helpers?.close()
  }
}
