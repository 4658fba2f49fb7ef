import { messageOf, splitInstance, type Logger, type SecretsOf, type SkillDefinition } from '../../kernel/index.ts'
import { serverOf } from '../toolkit/mcp/server-spec.ts'
import { writeToolList } from '../toolkit/mcp/tool-list.ts'
import { Places } from './places.ts'
import type { Servers } from './servers.ts'

/** How many servers are asked for their tools at once. */
const togetherMax = 2
/** After so long, in milliseconds, a server that has not answered no longer keeps others from being asked. */
const patience_ms = 2_000
/** The pause before a server that could not be asked is asked again, in milliseconds; it doubles each time. */
const again_ms = { first: 30_000, most: 600_000 }

interface FollowOptions {
  servers: Servers
  log: Logger
}

/** Asks servers whose tools are not known for them, in the background. */
export class Follow {
  readonly #options: FollowOptions
  readonly #places = new Places(togetherMax)
  readonly #closed = new AbortController()
  /** The ways of servers that were asked, and how often that failed. */
  readonly #asked = new Map<string, number>()
  #skills: readonly SkillDefinition[] = []

  constructor (options: FollowOptions) {
    this.#options = options
  }

  update (skills: readonly SkillDefinition[], secretsOf: SecretsOf): void {
    this.#skills = skills
    this.#options.servers.keep(new Set(skills.map(({ name }) => name)))
    for (const skill of skills) {
      if (skill.tools.length > 0 || this.#asked.has(keyOf(skill))) continue
      this.#asked.set(keyOf(skill), 0)
      void this.#ask(skill, secretsOf)
    }
  }

  close (): void {
    this.#closed.abort(new Error('the executor is stopping'))
  }

  async #ask (skill: SkillDefinition, secretsOf: SecretsOf): Promise<void> {
    const { servers, log } = this.#options
    const signal = this.#closed.signal
    const leave = await this.#places.enter(signal)
    if (leave === undefined) return
    const impatience = setTimeout(leave, patience_ms)
    try {
      await servers.of(skill, await this.#secretsOf(skill, secretsOf)).learn(signal)
    } catch (error) {
      if (signal.aborted) return
      const failures = this.#asked.get(keyOf(skill)) ?? 0
      this.#asked.set(keyOf(skill), failures + 1)
      const pause_ms = Math.min(again_ms.first * 2 ** failures, again_ms.most)
      log.warn(
        {
          skill: skill.name, error: messageOf(error), again_ms: pause_ms
        }, 'an MCP server could not be asked for its tools'
      )
      setTimeout(() => {
        if (!signal.aborted && this.#skills.includes(skill)) void this.#ask(skill, secretsOf)
      }, pause_ms).unref()
    } finally {
      clearTimeout(impatience)
      leave()
    }
  }

  /** A secret that is missing is kept as the fault of the server, so that the user is told of it. */
  async #secretsOf (skill: SkillDefinition, secretsOf: SecretsOf): Promise<ReturnType<SecretsOf>> {
    try {
      return secretsOf(skill)
    } catch (error) {
      const { list_file, way } = serverOf(skill)
      await writeToolList(list_file, { way, fault: messageOf(error) })
      throw error
    }
  }
}

/**
 * A skill that was removed and put back is not asked again while its server is the same. Instances share one list of
 * tools, for which the first is asked.
 */
function keyOf (skill: SkillDefinition): string {
  return `${splitInstance(skill.name).skill} ${serverOf(skill).way}`
}
