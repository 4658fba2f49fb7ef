import type { Config, Logger, SkillDefinition } from '../../../kernel/index.ts'
import { sandboxDemand } from '../sandbox-demand.ts'

export interface ConfinementOptions {
  config: Config
  /** Tries a confined process out. Resolves with what this machine lacks for it; undefined when it works. */
  probe (): Promise<string | undefined>
  log: Logger
}

/** Why a tool may not run: it can't be confined as it has to be. */
export class ConfinementError extends Error {}

/** The configurations of kernels that have warned: two executors would say the same. */
const warned = new WeakSet<Config>()

/** Decides which tools are confined. */
export class Confinement {
  readonly #options: ConfinementOptions
  #probed: Promise<string | undefined> | undefined
  /** True once it is known that tools can be confined here. */
  available: true | undefined

  constructor (options: ConfinementOptions) {
    this.#options = options
  }

  /** Whether tools of a skill have to be confined. A skill can demand it where the settings do not. */
  concerns (skill: SkillDefinition): boolean {
    const { mode } = this.#options.config.isolation
    return (mode === 'auto' && !skill.trusted) || sandboxDemand(skill, mode) !== undefined
  }

  /**
   * Whether tools of a skill are confined on this machine, which is tried out once.
   * @throws ConfinementError when they have to be and can't
   */
  async confines (skill: SkillDefinition): Promise<boolean> {
    const { mode } = this.#options.config.isolation
    const missing = await (this.#probed ??= this.#probe())
    if (missing === undefined) return this.available = true
    const demand = sandboxDemand(skill, mode)
    if (demand === undefined) return false
    throw new ConfinementError(`${skill.name} must run in a sandbox (${demand}), and this machine has none: ${missing}`)
  }

  /** Resolves when no probe runs. */
  async settled (): Promise<void> {
    await this.#probed?.catch(() => {})
  }

  async #probe (): Promise<string | undefined> {
    const { config, probe, log } = this.#options
    const missing = await probe()
    if (missing !== undefined && config.isolation.mode === 'auto' && !warned.has(config)) {
      warned.add(config)
      log.warn({ missing }, 'skills that are not trusted run without a sandbox, which this machine lacks; see `skillet doctor`')
    }
    return missing
  }
}
