import type { Confinement, Logger, PluginContext } from '../../../kernel/index.ts'
import { levelArgs } from '../../toolkit/sandbox/level-args.ts'
import type { RuleBook } from '../../toolkit/sandbox/rules.ts'
import type { HelperProcess } from '../helper-process.ts'
import type { HelperProgram } from '../helper-program.ts'
import { Helpers } from '../helpers.ts'
import { proxyPort, type TakeSocket } from '../../toolkit/network/passed-socket.ts'
import type { PassOptions } from '../../toolkit/network/pass.ts'
import { stopServing, type NetworkProxy } from '../../toolkit/network/proxy.ts'
import type { RunPass } from './run-network.ts'

/** The network of one skill, whose list says what it may reach. */
export interface ListedNetwork {
  /** The skill's folder. Two skills never share a network, in which each could reach what the other one serves. */
  directory: string
  list: readonly string[]
}

/** What all commands of a helper have in common, since a helper makes it once at its start. */
export interface Room {
  /** None, all of it, or what a list names. */
  network: boolean | ListedNetwork
  /** Absolute paths of which the file system is writable. */
  writable: readonly string[]
  level: Confinement
}

/** The most rooms that have helpers at the same time. */
const roomsMax = 32

export interface ConfinedHelpersOptions {
  program: HelperProgram
  book: RuleBook
  proxy: NetworkProxy
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
    const key = keyOf(room)
    const helpers = this.#rooms.get(key) ?? this.#open(room)
    this.#rooms.delete(key)
    this.#rooms.set(key, helpers)
    return helpers.pick()
  }

  /** Lets a run in a room with a list reach what the list names. */
  admit (room: Room, options: Omit<PassOptions, 'room'>): RunPass {
    const pass = this.#options.proxy.admit({ ...options, room: keyOf(room) })
    return { variables: pass.variables(proxyPort), end () { pass.end() } }
  }

  async close (): Promise<void> {
    await Promise.all([...this.#rooms.values()].map(helpers => helpers.close()))
    this.#options.proxy.close()
  }

  #open (room: Room): Helpers {
    const { program, book, proxy, helpers, log, health } = this.#options
    const { network, writable, level } = room
    const isListed = typeof network === 'object'
    for (const [key, idle] of this.#rooms) {
      if (this.#rooms.size < roomsMax) break
      if (idle.load > 0) continue
      this.#rooms.delete(key)
      void idle.close()
    }
    const args = [
      ...program.args, '--sandbox', '--network', network === true ? 'on' : 'off', ...levelArgs(level),
      ...(isListed ? ['--proxy', String(proxyPort)] : []),
      ...writable.flatMap(path => ['--write', path]), ...book.secrets.flatMap(path => ['--hide', path])
    ]
    const takeSocket: TakeSocket = async handle => {
      const server = await proxy.serve(handle, keyOf(room))
      return () => { stopServing(server) }
    }
    return new Helpers(helpers, { ...program, args, ...(isListed && { takeSocket }) }, log, health)
  }
}

/** Two rooms with the same key are the same. */
function keyOf ({ level, network, writable }: Room): string {
  return JSON.stringify([level, network, ...writable])
}
