import type { Config, Confinement, Task } from '../../../kernel/index.ts'
import { ConfinementError, ConfinementPolicy, type PolicyOptions } from '../../toolkit/sandbox/confinement-policy.ts'
import { networkListOf } from '../../toolkit/network/network-list-of.ts'
import { limitsOf, type Limits } from '../../toolkit/sandbox/limits.ts'
import type { RuleBook } from '../../toolkit/sandbox/rules.ts'
import { writablePaths } from '../../toolkit/sandbox/writable-paths.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { ConfinedHelpers } from './confined-helpers.ts'
import type { RunPass } from './run-network.ts'

export interface ConfinerOptions extends PolicyOptions {
  book: RuleBook
  helpers: ConfinedHelpers | undefined
}

/** Where and how a command runs. */
export interface Place {
  helper: HelperProcess
  /** The id of its rules; 0 where it is not confined. */
  rules: number
  /** What it may use, where it is confined. */
  limits?: Limits
  /** How it reaches the network, where a list says what it may reach. To be ended with the run. */
  pass?: RunPass
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
   * @param refused told what the command may not reach, once for each
   * @throws ConfinementError when it may not write to a path that its parameters name
   */
  place (task: Task, cwd: string, level: Confinement, refused: (message: string) => void): Place {
    if (this.#helpers === undefined) throw new ConfinementError('there is no sandbox')
    const { skill } = task
    const writable = writablePaths(this.#book, task, cwd)
    const { network } = skill.permissions
    const { id, paths } = this.#book.rulesFor(skill, cwd, writable, level === 'strict')
    const list = networkListOf(skill)
    const room = {
      network: typeof network === 'boolean' ? network : { directory: skill.directory, list: network }, writable, level
    }
    const helper = this.#helpers.pick(room)
    const limits = limitsOf(skill.permissions, this.#isolation)
    helper.keepRules(id, paths, limits)
    const pass = list === undefined ? undefined : this.#helpers.admit(room, { name: skill.name, list, refused })
    return { helper, rules: id, limits, ...(pass !== undefined && { pass }) }
  }

  async close (): Promise<void> {
    await this.settled()
    await this.#helpers?.close()
  }
}
