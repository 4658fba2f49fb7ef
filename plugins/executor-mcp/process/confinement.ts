import { mkdir } from 'node:fs/promises'
import type { Confinement as Level, PluginContext, SkillDefinition } from '../../../kernel/index.ts'
import type { ServerSpec } from '../../toolkit/mcp/server-spec.ts'
import { confinedProgram, type ConfinedCommand } from '../../toolkit/sandbox/confined-program.ts'
import { networkListOf } from '../../toolkit/network/network-list-of.ts'
import { NetworkProxy } from '../../toolkit/network/proxy.ts'
import { WayOut } from '../../toolkit/network/way-out.ts'
import { ConfinementError, ConfinementPolicy } from '../../toolkit/sandbox/confinement-policy.ts'
import { createRuleBook } from '../../toolkit/sandbox/create-rule-book.ts'
import { limitsOf } from '../../toolkit/sandbox/limits.ts'
import { real, type RuleBook } from '../../toolkit/sandbox/rules.ts'
import { writablePaths } from '../../toolkit/sandbox/writable-paths.ts'
import { ServerFault } from '../server-fault.ts'
import { findProgram } from '../../toolkit/find-program.ts'
import type { ConfinedStart } from './confined-server.ts'
import { tryServerLevels } from './probe.ts'
import { cacheVariables, serverCacheFolder } from './server-cache.ts'
import { notFound } from './server-process.ts'

type Context = Pick<PluginContext, 'config' | 'log' | 'health' | 'data_dir' | 'config_file'>

/** What is to be confined: a command in its working directory, with its whole environment. */
export interface Confinable {
  skill: SkillDefinition
  spec: ServerSpec
  env: Readonly<Record<string, string>>
  /** Told what it wanted to reach and may not. */
  refused (message: string): void
}

/** How a server is confined. */
export interface Confined extends ConfinedStart { level: Level }

/** Decides which servers are confined, and what they may use. */
export class Confinement {
  readonly #context: Context
  readonly #policy: ConfinementPolicy
  readonly #proxy = new NetworkProxy()
  #book: RuleBook | undefined

  constructor (context: Context) {
    const { config: { isolation }, log, health } = context
    this.#context = context
    this.#policy = new ConfinementPolicy({ isolation, log, health, probe: tryServerLevels })
  }

  /**
   * How a server is started in the sandbox; undefined where it runs without one.
   * @throws ConfinementError when it must be confined and can't be
   */
  async of ({ skill, spec, env, refused }: Confinable): Promise<Confined | undefined> {
    const level = this.#policy.concerns(skill) ? await this.#policy.levelOf(skill) : undefined
    if (level === undefined) return undefined
    const file = confinedProgram()
    if (file === undefined) throw new ConfinementError('there is no sandbox') // the level says that there is
    const list = networkListOf(skill)
    const openWayOut = list && (() => new WayOut(this.#proxy, skill.name, list, refused))
    return { file, level, openWayOut, command: await this.#commandOf(skill, spec, env, level) }
  }

  async #commandOf (
    skill: SkillDefinition, spec: ServerSpec, env: Confinable['env'], level: Level
  ): Promise<ConfinedCommand> {
    const { permissions } = skill
    const [program = '', ...args] = spec.command ?? []
    const path = await findProgram(program, env['PATH'] ?? '')
    if (path === undefined) throw new ServerFault(notFound(program))
    const book = this.#book ??= createRuleBook(this.#context)
    const cache = await this.#cacheOf(skill, book)
    const writable = [...writablePaths(book, { skill, parameters: {} }, spec.cwd), ...cache]
    const { paths } = book.rulesFor(skill, spec.cwd, writable, level === 'strict')
    return {
      level, limits: limitsOf(permissions, this.#context.config.isolation),
      network: permissions.network === true, // with a list, a proxy is the only way out
      writable, hidden: book.secrets, paths, cwd: spec.cwd, args: [path, ...args],
      env: { ...cacheVariables(cache), ...env }
    }
  }

  /** The folder that the server keeps; none where it would lie in what is secret. */
  async #cacheOf (skill: SkillDefinition, book: RuleBook): Promise<string[]> {
    const folder = serverCacheFolder(skill)
    if (book.secretWithin(folder) !== undefined) return []
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return real(folder)
  }

  /** Ends the ways out. Resolves when nothing is being tried out. */
  async close (): Promise<void> {
    this.#proxy.close()
    await this.#policy.settled()
  }
}
