import type { Logger, PluginContext } from '../../kernel/index.ts'
import { HelperProcess } from './helper-process.ts'
import { nodeHelper, runsHere, type HelperProgram } from './helper-program.ts'

/** The helper processes: started when they are needed, and replaced when they die. */
export class Helpers {
  readonly #max: number
  readonly #log: Logger
  readonly #health: PluginContext['health']
  readonly #compiled: HelperProgram | undefined
  /** Selected when the first helper is needed. */
  #program: HelperProgram | undefined
  #degraded = false
  readonly #all = new Set<HelperProcess>()

  /** @param compiled the helper in C; where it is undefined or does not run, the helper in Node is used */
  constructor (max: number, compiled: HelperProgram | undefined, log: Logger, health: PluginContext['health']) {
    this.#max = max
    this.#compiled = compiled
    this.#log = log
    this.#health = health
  }

  /** The helper with the fewest runs; a new helper if all are busy and there may be another one. */
  pick (): HelperProcess {
    let least: HelperProcess | undefined
    let usable = 0
    for (const helper of this.#all) {
      if (!helper.usable) continue
      usable++
      if (least === undefined || helper.load < least.load) least = helper
    }
    return least === undefined || (least.load > 0 && usable < this.#max) ? this.#start() : least
  }

  /** The number of runs that have not ended. */
  get load (): number {
    let load = 0
    for (const helper of this.#all) load += helper.load
    return load
  }

  /** Records that a helper works. */
  works (): void {
    if (!this.#degraded) return
    this.#degraded = false
    this.#health.recover()
  }

  /** Ends all helpers and their runs. */
  async close (): Promise<void> {
    await Promise.all([...this.#all].map(helper => helper.close()))
  }

  #start (): HelperProcess {
    const helper = new HelperProcess(this.#program ??= this.#choose())
    this.#all.add(helper)
    void this.#mourn(helper)
    return helper
  }

  #choose (): HelperProgram {
    if (this.#compiled === undefined) return nodeHelper()
    if (this.#compiled.confined === true || runsHere(this.#compiled)) return this.#compiled
    this.#log.warn(
      { file: this.#compiled.file },
      'the compiled helper does not run on this system; the one in Node takes its place'
    )
    return nodeHelper()
  }

  async #mourn (helper: HelperProcess): Promise<void> {
    const how = await helper.gone
    this.#all.delete(helper)
    if (how === undefined) return
    this.#log.error({ pid: helper.pid, how }, 'a helper process died')
    this.#health.degrade(`a helper process died: ${how}`)
    this.#degraded = true
  }
}
