import type { JsonObject } from '../../kernel/index.ts'
import { environmentOf } from '../toolkit/environment.ts'
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
}

/**
 * The paths that a command must refuse when its skill reads files for callers, one path a line.
 * @param config the configuration of the skill
 */
export function privatePathsOf ({ private_paths }: JsonObject): Record<string, string> {
  return { SKILLET_PRIVATE_PATHS: Array.isArray(private_paths) ? private_paths.join('\n') : '' }
}
