import type { JsonObject, Task } from '../../kernel/index.ts'
import { environmentOf } from '../toolkit/environment.ts'
import type { Command } from '../toolkit/expand-command.ts'
import type { Environment } from './protocol.ts'

/** The environments of commands by what their skills declare, each computed once: the server's does not change. */
export class Environments {
  readonly #environments = new WeakMap<readonly string[], Environment>()

  /** The same object each time, since its text is cached. */
  of (declared: readonly string[]): Environment {
    const cached = this.#environments.get(declared)
    if (cached !== undefined) return cached
    const environment = environmentOf(declared)
    this.#environments.set(declared, environment)
    return environment
  }

  /**
   * The environment of a run: the same object each time, unless the run has variables of its own.
   * @param proxy the variables by which it finds its proxy; nothing else may change them
   */
  ofRun ({ skill, secrets, config }: Task, { env }: Command, proxy: Environment | undefined): Environment {
    const shared = this.of(skill.permissions.env)
    const isShared = proxy === undefined && secrets === undefined && skill.reads_files !== true
    if (isShared && Object.keys(env).length === 0) return shared
    return { ...shared, ...env, ...(skill.reads_files === true && privatePathsOf(config)), ...secrets, ...proxy }
  }
}

/**
 * The paths that a command must refuse when its skill reads files for callers, one path a line.
 * @param config the configuration of the skill
 */
function privatePathsOf ({ private_paths }: JsonObject): Record<string, string> {
  return { SKILLET_PRIVATE_PATHS: Array.isArray(private_paths) ? private_paths.join('\n') : '' }
}
