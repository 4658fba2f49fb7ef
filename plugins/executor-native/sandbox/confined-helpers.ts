import type { Confinement, Logger, PluginContext } from '../../../kernel/index.ts'
import type { RuleBook } from '../../toolkit/sandbox/rules.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { HelperProgram } from '../helper-program.ts'
import { Helpers } from '../helpers.ts'
import { levelArgs } from './probe.ts'

/** What all commands of a helper have in common, since a helper makes it once at its start. */
export interface Room {
  network: boolean
  /** Absolute paths of which the file system is writable. */
  writable: readonly string[]
  level: Confinement
}

/** The most rooms that have helpers at the same time. */
const roomsMax = 32

export interface ConfinedHelpersOptions {
  program: HelperProgram
  book: RuleBook
  /** The most helpers of each room. */
  helpers: number
  log: Logger
  health: PluginContext['health']
}

/** The helpers whose commands are confined: some for each room that skills need. */
export class ConfinedHelpers {
  readonly #options: ConfinedHelpersOptions
  /** The room that was used last is last. */
  readonly #rooms = new Map<string, Helpers>()

  constructor (options: ConfinedHelpersOptions) {
    this.#options = options
  }

  /** A helper for a room: one that has time, or a new one. */
  pick (room: Room): HelperProcess {
    const key = JSON.stringify([room.level, room.network, ...room.writable])
    const helpers = this.#rooms.get(key) ?? this.#open(room)
    this.#rooms.delete(key)
    this.#rooms.set(key, helpers)
    return helpers.pick()
  }

  async close (): Promise<void> {
    await Promise.all([...this.#rooms.values()].map(helpers => helpers.close()))
  }

  #open ({ network, writable, level }: Room): Helpers {
    const { program, book, helpers, log, health } = this.#options
    for (const [key, idle] of this.#rooms) {
      if (this.#rooms.size < roomsMax) break
      if (idle.load > 0) continue
      this.#rooms.delete(key)
      void idle.close()
    }
    const args = [
      ...program.args, '--sandbox', '--network', network ? 'on' : 'off', ...levelArgs(level),
      ...writable.flatMap(path => ['--write', path]), ...book.secrets.flatMap(path => ['--hide', path])
    ]
    return new Helpers(helpers, { ...program, args }, log, health)
  }
}
