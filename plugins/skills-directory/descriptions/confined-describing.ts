import { ConfinedModules, type ModulesContext } from '../../toolkit/describing/confined-modules.ts'
import { mayBeRefused } from '../../toolkit/sandbox/advice.ts'
import { ConfinementError } from '../../toolkit/sandbox/confinement-policy.ts'
import type { ModuleData } from '../process/entry.ts'
import type { Awaiting, Described, Fault, FolderToRead } from '../shared/protocol.ts'
import { readExported } from './incoming.ts'
import type { Answer } from './reader-pool.ts'

/** The longest report of a process: a description has 4 Mi characters at most, each up to six bytes in JSON. */
const report_bytes_max = 32 * 1_048_576
/** How often a module may change while its skill is being described. */
const changesMax = 3

/** Describes skills whose modules may not run in a thread of the server. */
export class ConfinedDescribing {
  readonly #modules: ConfinedModules
  readonly #ask: (folder: FolderToRead) => Promise<Answer>

  /** @param ask has a folder read in a thread, where its module is built and what it exports is checked */
  constructor (
    context: ModulesContext, describe_ms: number, ask: (folder: FolderToRead) => Promise<Answer>
  ) {
    this.#ask = ask
    this.#modules = new ConfinedModules({
      context, limit_ms: describe_ms, report_bytes_max, entry: new URL('../process/entry.js', import.meta.url)
    })
  }

  get isBusy (): boolean {
    return this.#modules.isBusy
  }

  get stuck_ms (): number {
    return this.#modules.stuck_ms
  }

  /**
   * Describes a folder whose module has been built. Where the skill is trusted, its manifest demands a sandbox.
   */
  async describe (folder: FolderToRead, first: Awaiting): Promise<Described | Fault> {
    let awaiting = first
    for (let i = 0; i < changesMax; i++) {
      const answer = await this.#round(folder, awaiting)
      if (!('awaiting' in answer)) return answer
      awaiting = answer.awaiting
    }
    return faultOf(folder, awaiting, 'its files are being changed while they are read')
  }

  /** Ends all processes. */
  close (): Promise<void> {
    return this.#modules.close()
  }

  async #round (folder: FolderToRead, awaiting: Awaiting): Promise<Answer> {
    const { path, module, isolation, read, env, outside } = awaiting
    const { name, revision, in_thread: trusted } = folder
    try {
      const permissions = { ...(isolation !== undefined && { isolation }) }
      const level = await this.#modules.policy.levelOf({ name, trusted, permissions })
      if (level === undefined) return await this.#ask({ ...folder, in_thread: true })
    } catch (error) {
      if (error instanceof ConfinementError) return { name, path, error: error.message, outside }
      throw error
    }
    const secret = this.#modules.secretAmong(outside)
    if (secret !== undefined) {
      return faultOf(folder, awaiting, `its module imports ${secret}, which only trusted skills may read`)
    }
    const report = await this.#modules.read({
      module, data: { path } satisfies ModuleData,
      skill: { name, revision, directory: folder.path, permissions: { ...(read !== undefined && { read }), env } }
    })
    if ('fault' in report) return faultOf(folder, awaiting, report.fault)
    const found = readExported(report.found)
    if (found === undefined) return faultOf(folder, awaiting, 'its module sent the server a message while it was read')
    if ('fault' in found) return faultOf(folder, awaiting, found.fault)
    return await this.#ask({ ...folder, exported: { module, found } })
  }}

/** A fault, with what the author can do where the sandbox may be its reason. */
function faultOf ({ name, in_thread: trusted }: FolderToRead, { path, outside }: Awaiting, error: string): Fault {
  if (!mayBeRefused(error)) return { name, path, error, outside }
  const why = trusted
    ? 'its module is read in a sandbox, as its permissions say'
    : `its module is read in a sandbox, since the skill is not trusted: change it, or run \`skillet trust ${name}\``
  return { name, path, error: `${error}; ${why}`, outside }
}
