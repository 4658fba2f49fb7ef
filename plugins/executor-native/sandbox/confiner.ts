import { resolve } from 'node:path'
import {
  fromHome, isObject, type Config, type Confinement, type Logger, type PluginContext, type SkillDefinition, type Task
} from '../../../kernel/index.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { HelperProgram } from '../helper-program.ts'
import type { Limits } from '../protocol.ts'
import { demandOf, strongest } from '../../toolkit/sandbox-demand.ts'
import type { ConfinedHelpers } from './confined-helpers.ts'
import { levelWithin, promises, tryLevels, type Lacking } from './levels.ts'
import { limitsOf } from './limits.ts'
import { real, type RuleBook } from './rules.ts'

export interface ConfinerOptions {
  isolation: Config['isolation']
  program: HelperProgram | undefined
  book: RuleBook
  helpers: ConfinedHelpers | undefined
  log: Logger
  health: Pick<PluginContext['health'], 'warn'>
  /** What the machine lacks; by default it is tried out. */
  probe?: (program: HelperProgram | undefined) => Promise<Lacking>
}

/** Why a command may not run: it can't be confined as it has to be. */
export class ConfinementError extends Error {}

/** Where a command runs. */
export interface Place {
  helper: HelperProcess
  /** The id of its rules; 0 where it is not confined. */
  rules: number
  /** What it may use, where it is confined. */
  limits?: Limits
}

/** Decides which commands are confined, and how. */
export class Confiner {
  readonly #options: ConfinerOptions
  #probed: Promise<Lacking> | undefined
  #lacking: Lacking | undefined

  constructor (options: ConfinerOptions) {
    this.#options = options
  }

  /** Whether commands of a skill have to be confined. A skill can demand it where the settings do not. */
  concerns (skill: SkillDefinition): boolean {
    return this.#wanted(skill) !== undefined
  }

  /**
   * The level at which commands of a skill run on this machine; undefined: without confinement. What the machine can
   * do is tried out once, until then the answer is a promise.
   * @throws ConfinementError when they have to be confined and can't
   */
  levelOf (skill: SkillDefinition): Confinement | undefined | Promise<Confinement | undefined> {
    return this.#lacking === undefined
      ? this.#probe().then(lacking => this.#choose(skill, lacking))
      : this.#choose(skill, this.#lacking)
  }

  /**
   * A helper and rules for a command.
   * @param cwd its absolute working directory
   * @throws ConfinementError when it may not write to a path that its parameters name
   */
  place ({ skill, parameters }: Task, cwd: string, level: Confinement): Place {
    const { book, helpers, isolation } = this.#options
    if (helpers === undefined) throw new ConfinementError('there is no sandbox')
    const writable = skill.permissions.write.flatMap(entry => {
      const path = pathOf(entry, parameters)
      if (path === undefined) return []
      const absolute = resolve(cwd, fromHome(path))
      const secret = book.secretWithin(absolute)
      if (secret !== undefined) {
        throw new ConfinementError(`${skill.name} may not write to ${absolute}: it holds ${secret}`)
      }
      return real(absolute) // what does not exist can't be made writable
    })
    const { id, paths } = book.rulesFor(skill, cwd, writable, level === 'strict')
    const helper = helpers.pick({ network: skill.permissions.network, writable, level })
    const limits = limitsOf(skill.permissions, isolation)
    helper.keepRules(id, paths, limits)
    return { helper, rules: id, limits }
  }

  async close (): Promise<void> {
    await this.#probed?.catch(() => {})
    await this.#options.helpers?.close()
  }

  /** The level that a skill should have. */
  #wanted (skill: SkillDefinition): Confinement | undefined {
    const { isolation } = this.#options
    return strongest(
      isolation.mode === 'auto' && !skill.trusted ? isolation.level : undefined, demandOf(skill, isolation)?.level
    )
  }

  #choose (skill: SkillDefinition, lacking: Lacking): Confinement | undefined {
    const wanted = this.#wanted(skill)
    if (wanted === undefined) return undefined
    const demand = demandOf(skill, this.#options.isolation)
    const level = levelWithin(lacking, wanted, demand?.level)
    if (level !== undefined || demand === undefined) return level
    const what = demand.level === 'sandbox' ? 'run in a sandbox' : `run at the isolation level "${demand.level}"`
    throw new ConfinementError(
      `${skill.name} must ${what} (${demand.why}), and this machine has none: ${lacking[demand.level]}`
    )
  }

  #probe (): Promise<Lacking> {
    const { program, probe = tryLevels } = this.#options
    return this.#probed ??= probe(program).then(lacking => {
      this.#warn(lacking)
      return this.#lacking = lacking
    })
  }

  /** Says once, in the log and in health, what the configured level promises and this machine can't give. */
  #warn (lacking: Lacking): void {
    const { isolation: { mode, level }, log, health } = this.#options
    const missing = lacking[level]
    if (missing === undefined || mode === 'off') return
    const instead = mode === 'required' ? 'do not run' : `run ${nameOf(levelWithin(lacking, level, undefined))}`
    const text = `skills that are not trusted ${instead}: this machine lacks the level "${level}"`
    log.warn({ missing, level }, `${text}; see \`skillet doctor\``)
    health.warn(`${text} (${missing})${mode === 'required' ? '' : `: ${fallen(lacking, level)}`}`)
  }
}

function nameOf (level: Confinement | undefined): string {
  return level === undefined ? 'without a sandbox' : `at the level "${level}"`
}

/** The promises that do not hold, since their level is missing. */
function fallen (lacking: Lacking, level: Confinement): string {
  return lacking.sandbox === undefined ? promises[level] : promises.sandbox
}

/** A path of `permissions.write`: a placeholder is the value of a parameter, where it was given. */
function pathOf (entry: string, parameters: unknown): string | undefined {
  const name = /^\{\{(\w+)\}\}$/.exec(entry)?.[1]
  if (name === undefined) return entry
  const value = isObject(parameters) ? parameters[name] : undefined
  return typeof value === 'string' && !value.includes('\0') ? value : undefined
}
