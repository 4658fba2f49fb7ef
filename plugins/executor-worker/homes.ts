import type { PluginContext } from '../../kernel/index.ts'
import { confinedProgram } from '../toolkit/sandbox/confined-program.ts'
import { ConfinementPolicy } from '../toolkit/sandbox/confinement-policy.ts'
import { createRuleBook } from '../toolkit/sandbox/create-rule-book.ts'
import type { Lacking } from '../toolkit/sandbox/levels.ts'
import type { ConfinedHome } from './confined/home.ts'
import type { Pool } from './main/pool.ts'
import type { Limits } from './shared/limits.ts'

/** The two homes of script skills: threads, and confined processes. Each is loaded when the first of them is to run. */
export class Homes {
  readonly #context: PluginContext
  readonly #limits: Limits
  readonly #processesMax: number
  readonly policy: ConfinementPolicy
  pool: Pool | undefined
  #loadingPool: Promise<Pool> | undefined
  confined: ConfinedHome | undefined
  #loadingConfined: Promise<ConfinedHome> | undefined
  closed = false

  constructor (context: PluginContext, limits: Limits, processesMax: number) {
    this.#context = context
    this.#limits = limits
    this.#processesMax = processesMax
    const { config: { isolation }, log, health } = context
    const probe = async (): Promise<Lacking> =>
      await (await import('./confined/probe.ts')).tryScriptLevels(confinedProgram())
    this.policy = new ConfinementPolicy({ isolation, probe, log, health })
    this.policy.probeSoon()
  }

  loadPool (): Promise<Pool> {
    return this.#loadingPool ??= import('./main/pool.ts').then(({ Pool }) =>
      this.pool = new Pool(this.#limits, this.#context.log))
  }

  loadConfined (): Promise<ConfinedHome> {
    return this.#loadingConfined ??= Promise.all([
      import('./confined/home.ts'), import('../toolkit/network/proxy.ts')
    ]).then(([{ ConfinedHome }, { NetworkProxy }]) => {
      const program = confinedProgram()
      if (program === undefined) throw new Error('there is no sandbox')
      return this.confined = new ConfinedHome({
        program, limits: this.#limits, processesMax: this.#processesMax, log: this.#context.log,
        book: createRuleBook(this.#context), cwd: process.cwd(), proxy: new NetworkProxy(),
        isolation: this.#context.config.isolation
      })
    })
  }

  async close (): Promise<void> {
    this.closed = true
    await this.policy.settled()
    await Promise.all([
      this.#loadingPool?.then(pool => pool.close()), this.#loadingConfined?.then(home => home.close())
    ])
  }
}
