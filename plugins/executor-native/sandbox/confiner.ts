import { resolve } from 'node:path'
import {
  fromHome, isObject, messageOf, type Config, type Logger, type SkillDefinition, type Task
} from '../../../kernel/index.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { HelperProgram } from '../helper-program.ts'
import { sandboxDemand } from '../../toolkit/sandbox-demand.ts'
import { NetworkList } from '../../toolkit/network/network-list.ts'
import type { ConfinedHelpers } from './confined-helpers.ts'
import { whyNoSandbox } from './probe.ts'
import { real, type RuleBook } from './rules.ts'
import type { RunPass } from './run-network.ts'

export interface ConfinerOptions {
  mode: Config['isolation']['mode']
  program: HelperProgram | undefined
  book: RuleBook
  helpers: ConfinedHelpers | undefined
  log: Logger
}

/** Why a command may not run: it can't be confined as it has to be. */
export class ConfinementError extends Error {}

/** Where and how a command runs. */
export interface Place {
  helper: HelperProcess
  /** The id of its rules; 0 in a helper without a sandbox. */
  rules: number
  /** How it reaches the network, where a list says what it may reach. To be ended with the run. */
  pass?: RunPass
}

/** Decides which commands are confined, and how. */
export class Confiner {
  readonly #options: ConfinerOptions
  #probed: Promise<string | undefined> | undefined
  /** True once it is known that commands can be confined here. */
  available: true | undefined

  constructor (options: ConfinerOptions) {
    this.#options = options
  }

  /** Whether commands of a skill have to be confined. A skill can demand it where the settings do not. */
  concerns (skill: SkillDefinition): boolean {
    const { mode } = this.#options
    return (mode === 'auto' && !skill.trusted) || sandboxDemand(skill, mode) !== undefined
  }

  /**
   * Whether commands of a skill are confined on this machine, which is tried out once.
   * @throws ConfinementError when they have to be and can't
   */
  async confines (skill: SkillDefinition): Promise<boolean> {
    const { mode, program, log } = this.#options
    this.#probed ??= whyNoSandbox(program).then(missing => {
      if (missing !== undefined && mode === 'auto') {
        log.warn({ missing }, 'skills that are not trusted run without a sandbox, which this machine lacks; see `skillet doctor`')
      }
      return missing
    })
    const missing = await this.#probed
    if (missing === undefined) return this.available = true
    const demand = sandboxDemand(skill, mode)
    if (demand === undefined) return false
    throw new ConfinementError(`${skill.name} must run in a sandbox (${demand}), and this machine has none: ${missing}`)
  }

  /**
   * A helper and rules for a command.
   * @param cwd its absolute working directory
   * @param refused told what the command may not reach, once for each
   * @throws ConfinementError when it may not write to a path that its parameters name
   */
  place (task: Task, cwd: string, refused: (message: string) => void): Place {
    const { skill } = task
    const { book, helpers } = this.#options
    if (helpers === undefined) throw new ConfinementError('there is no sandbox')
    const writable = this.#writableOf(task, cwd)
    const { network } = skill.permissions
    const { id, paths } = book.rulesFor(skill, cwd, writable)
    const list = typeof network === 'boolean' ? undefined : listOf(skill.name, network)
    const room = {
      network: typeof network === 'boolean' ? network : { directory: skill.directory, list: network }, writable
    }
    const helper = helpers.pick(room)
    helper.keepRules(id, paths)
    const pass = list === undefined ? undefined : helpers.admit(room, { name: skill.name, list, refused })
    return { helper, rules: id, ...(pass !== undefined && { pass }) }
  }

  #writableOf ({ skill, parameters }: Task, cwd: string): string[] {
    const { book } = this.#options
    return skill.permissions.write.flatMap(entry => {
      const path = pathOf(entry, parameters)
      if (path === undefined) return []
      const absolute = resolve(cwd, fromHome(path))
      const secret = book.secretWithin(absolute)
      if (secret !== undefined) {
        throw new ConfinementError(`${skill.name} may not write to ${absolute}: it holds ${secret}`)
      }
      return real(absolute) // what does not exist can't be made writable
    })
  }

  async close (): Promise<void> {
    await this.#probed?.catch(() => {})
    await this.#options.helpers?.close()
  }
}

/** @throws ConfinementError when it can't be read, as that of a skill that no reader of ours has checked */
function listOf (skill: string, network: readonly string[]): NetworkList {
  try {
    return new NetworkList(network)
  } catch (error) {
    throw new ConfinementError(`${skill} can't run: permissions/network: ${messageOf(error)}`, { cause: error })
  }
}

/** A path of `permissions.write`: a placeholder is the value of a parameter, where it was given. */
function pathOf (entry: string, parameters: unknown): string | undefined {
  const name = /^\{\{(\w+)\}\}$/.exec(entry)?.[1]
  if (name === undefined) return entry
  const value = isObject(parameters) ? parameters[name] : undefined
  return typeof value === 'string' && !value.includes('\0') ? value : undefined
}
