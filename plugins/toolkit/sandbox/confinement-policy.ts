import type { Config, Confinement, Logger, PluginContext } from '../../../kernel/index.ts'
import { demandOf, strongest, type ConfinedSkill } from '../sandbox-demand.ts'
import { levelWithin, promises, type Lacking } from './levels.ts'

export interface PolicyOptions {
  isolation: Config['isolation']
  /** Tries confinement out. Resolves with what this machine lacks for each level. */
  probe (): Promise<Lacking>
  log: Logger
  health: Pick<PluginContext['health'], 'warn'>
}

/** Why a tool may not run: it can't be confined as it has to be. */
export class ConfinementError extends Error {}

/** The time after the start of a plugin at which the machine is tried out: short commands have ended by then. */
const start_ms = 1_000

/** The warnings that were given, by the settings of their kernel: two executors would say the same. */
const given = new WeakMap<Config['isolation'], Set<string>>()

/** Decides which tools are confined, and at which level. */
export class ConfinementPolicy {
  readonly #options: PolicyOptions
  #probed: Promise<Lacking> | undefined
  #lacking: Lacking | undefined
  #start: NodeJS.Timeout | undefined

  constructor (options: PolicyOptions) {
    this.#options = options
  }

  /** Tries out a moment later what this machine can do, so that a server says what it lacks before the first run. */
  probeSoon (): void {
    if (this.#options.isolation.mode === 'off') return
    this.#start = setTimeout(() => { this.#probe().catch(() => {}) }, start_ms).unref() // the first run says why
  }

  /** Whether tools of a skill have to be confined. A skill can demand it where the settings do not. */
  concerns (skill: ConfinedSkill): boolean {
    return this.#wanted(skill) !== undefined
  }

  /**
   * The level at which tools of a skill run on this machine; undefined: without confinement. What the machine can do is
   * tried out once, until then the answer is a promise.
   * @throws ConfinementError when they have to be confined and can't
   */
  levelOf (skill: ConfinedSkill): Confinement | undefined | Promise<Confinement | undefined> {
    return this.#lacking === undefined
      ? this.#probe().then(lacking => this.#choose(skill, lacking))
      : this.#choose(skill, this.#lacking)
  }

  /** Resolves when nothing is being tried out, and nothing will be by itself. */
  async settled (): Promise<void> {
    clearTimeout(this.#start)
    await this.#probed?.catch(() => {})
  }

  /** The level that a skill should have. */
  #wanted (skill: ConfinedSkill): Confinement | undefined {
    const { isolation } = this.#options
    return strongest(
      isolation.mode === 'auto' && !skill.trusted ? isolation.level : undefined, demandOf(skill, isolation)?.level
    )
  }

  #choose (skill: ConfinedSkill, lacking: Lacking): Confinement | undefined {
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
    return this.#probed ??= this.#options.probe().then(lacking => {
      this.#warn(lacking)
      return this.#lacking = lacking
    })
  }

  /** Says once, in the log and in health, what the configured level promises and this machine can't give. */
  #warn (lacking: Lacking): void {
    const { isolation, log, health } = this.#options
    const { mode, level } = isolation
    const missing = lacking[level]
    if (missing === undefined || mode === 'off') return
    const instead = mode === 'required' ? 'do not run' : `run ${nameOf(levelWithin(lacking, level, undefined))}`
    const text = `skills that are not trusted ${instead}: this machine lacks the level "${level}"`
    const before = given.get(isolation) ?? new Set()
    if (before.has(text)) return
    given.set(isolation, before.add(text))
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
