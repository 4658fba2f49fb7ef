import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configHome, messageOf, type PluginContext, type SkillDefinition } from '../../../kernel/index.ts'
import { environmentOf } from '../environment.ts'
import { confinedProgram, moduleInside } from '../sandbox/confined-program.ts'
import { ConfinementPolicy } from '../sandbox/confinement-policy.ts'
import { createRuleBook } from '../sandbox/create-rule-book.ts'
import type { Lacking } from '../sandbox/levels.ts'
import { MemoryWatch } from '../sandbox/memory-watch.ts'
import type { RuleBook } from '../sandbox/rules.ts'
import { readModule, type ModuleProcess, type ModuleReport } from './read-module.ts'

/** What confining modules needs of a plugin's context. */
export type ModulesContext = Pick<PluginContext, 'config' | 'data_dir' | 'config_file' | 'log' | 'health'>

export interface ConfinedModulesOptions {
  context: ModulesContext
  /** The program that reads a module: a file that calls `reportModule`, bundled by the build. */
  entry: URL
  /** How long reading one module may take, in milliseconds. */
  limit_ms: number
  /** The longest report of a process, in bytes. */
  report_bytes_max: number
}

/** A module that is to be read, and what its process may do. */
export interface ModuleToRead {
  skill: Pick<SkillDefinition, 'name' | 'directory' | 'revision'> & {
    permissions: Pick<SkillDefinition['permissions'], 'read' | 'env'>
  }
  /** The absolute path of the built module. */
  module: string
  /** What else the program is told, as JSON. */
  data: object
  /** Further variables of the process. */
  env?: Readonly<Record<string, string>>
}

/** The compiled program, of which built modules include small files. */
const programFolder = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * The least and the most processes at the same time. Between them, as many as the machine has cores, and those that are
 * slow: they do not delay other modules.
 */
const processesAtOnce = { least: 2, most: 8 }
/** A module is slow when it has run for this time, in milliseconds. */
const slow_ms = 1_500
/** Reads modules of skills that are confined, each in a process of its own, and some of them at the same time. */
export class ConfinedModules {
  readonly policy: ConfinementPolicy
  readonly #options: ConfinedModulesOptions
  readonly #memory: MemoryWatch
  readonly #processesMax = Math.min(processesAtOnce.most, Math.max(processesAtOnce.least, availableParallelism()))
  readonly #running = new Set<Promise<unknown>>()
  readonly #waiting: { turn: Turn, begin: () => void }[] = []
  readonly #stop = new AbortController()
  /** Modules that are being read, and since when each has been slow (performance.now()). */
  readonly #reading = new Set<Turn>()
  #book: RuleBook | undefined

  constructor (options: ConfinedModulesOptions) {
    const { config: { execution, isolation }, log, health } = (this.#options = options).context
    this.#memory = new MemoryWatch(execution.heap_bytes_max)
    const probe = async (): Promise<Lacking> => {
      const sandbox = await this.#whyNot()
      return { sandbox, strict: sandbox } // a process for each module is what the stronger level adds
    }
    this.policy = new ConfinementPolicy({ isolation, probe, log, health })
  }

  /**
   * The first file that must not become a part of a module that is confined, since its process could not read it.
   * Skills may share files of their directory.
   */
  secretAmong (files: readonly string[]): string | undefined {
    const skills = join(configHome(process.env), 'skills')
    const shared = existsSync(skills) ? realpathSync(skills) + sep : undefined
    return files.find(file => {
      if (!existsSync(file) || file.startsWith(programFolder)) return false
      const place = realpathSync(file)
      return !(shared !== undefined && place.startsWith(shared)) && this.#rules.holds(place)
    })
  }

  /** Whether a module is being read, or waits for it. */
  get isBusy (): boolean {
    return this.#reading.size > 0
  }

  /** How long all modules that are being read have been slow, in milliseconds; 0 while more wait. */
  get stuck_ms (): number {
    if (this.#waiting.length > 0 || this.#reading.size === 0) return 0
    return performance.now() - Math.max(...Array.from(this.#reading, ({ slow_ms }) => slow_ms ?? performance.now()))
  }

  /** Reads a module, after those that wait. Never rejects: there is a fault for whatever its code does. */
  async read (wanted: ModuleToRead): Promise<ModuleReport> {
    const turn: Turn = { slow_ms: undefined }
    await new Promise<void>(resolve => {
      this.#waiting.push({ turn, begin: resolve })
      this.#next()
    })
    let timer: NodeJS.Timeout | undefined
    const slow = (): void => {
      turn.slow_ms = performance.now()
      this.#next()
    }
    try {
      const { limit_ms } = this.#options
      const onReady = (): void => { timer = setTimeout(slow, slow_ms) }
      return await this.#run({ ...this.#confine(wanted), limit_ms, onReady })
    } catch (error) {
      return { fault: `its module could not be read in a sandbox: ${messageOf(error)}` }
    } finally {
      clearTimeout(timer)
      this.#reading.delete(turn)
      this.#next()
    }
  }

  #hasRoom (): boolean {
    const all = [...this.#reading]
    const fast = all.filter(({ slow_ms }) => slow_ms === undefined)
    return all.length < processesAtOnce.most && fast.length < this.#processesMax
  }

  #next (): void {
    while (this.#hasRoom()) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#reading.add(next.turn)
      next.begin()
    }
  }

  /** Ends all processes. */
  async close (): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([this.policy.settled(), ...this.#running])
    this.#memory.close()
  }

  get #rules (): RuleBook {
    return this.#book ??= createRuleBook(this.#options.context)
  }

  #confine ({ skill, module, data, env = {} }: ModuleToRead): Confined {
    const book = this.#rules
    const cwd = realpathSync(skill.directory)
    const isHidden = book.holds(module)
    const place = isHidden ? moduleInside : module
    return {
      given: { module: place, data },
      hidden: book.secrets,
      paths: [...book.rulesFor(skill, cwd, []).paths, { path: place, access: 'read' }],
      cwd,
      env: { ...environmentOf(skill.permissions.env), ...env },
      ...(isHidden && { contents: readFileSync(module) })
    }
  }

  /** Why no module can be confined on this machine, which is tried out; undefined where it can. */
  async #whyNot (): Promise<string | undefined> {
    try {
      const report = await this.#run({
        given: { data: {} }, hidden: [], paths: [{ path: '/', access: 'read' }], cwd: '/', env: environmentOf([]),
        limit_ms: this.#options.limit_ms
      })
      return 'fault' in report ? report.fault : undefined
    } catch (error) {
      return messageOf(error)
    }
  }

  async #run (confined: Confined & Pick<ModuleProcess, 'limit_ms' | 'onReady'>): Promise<ModuleReport> {
    const program = confinedProgram()
    if (program === undefined) {
      return { fault: 'the part in C was not built: it needs Linux and a C compiler (npm run build)' }
    }
    const { entry, report_bytes_max, context: { config } } = this.#options
    const running = readModule({
      ...confined, program, entry: fileURLToPath(entry), frameBytesMax: report_bytes_max,
      heap_bytes_max: config.execution.heap_bytes_max, memory: this.#memory, signal: this.#stop.signal
    })
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }
}

/** A module that is being read. `slow_ms`: since when it is slow. */
interface Turn { slow_ms: number | undefined }

type Confined = Pick<ModuleProcess, 'given' | 'hidden' | 'paths' | 'cwd' | 'env' | 'contents'>
