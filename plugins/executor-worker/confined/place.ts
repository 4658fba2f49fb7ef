import { readFileSync } from 'node:fs'
import { List, type Config, type Confinement, type Task } from '../../../kernel/index.ts'
import { moduleInside, type ConfinedOptions } from '../../toolkit/sandbox/confined-program.ts'
import type { NetworkList } from '../../toolkit/network/network-list.ts'
import { networkListOf } from '../../toolkit/network/network-list-of.ts'
import { least, limitsOf, type Limits } from '../../toolkit/sandbox/limits.ts'
import type { AllowedPath, RuleBook } from '../../toolkit/sandbox/rules.ts'
import { declaredEnvironment, threadEnvironment } from '../main/environment.ts'
import { mebibytes, type Run } from '../main/run.ts'
import { slotsMax } from '../shared/board.ts'
import { batch_ms } from '../shared/limits.ts'
import type { ProcessData } from '../shared/process-protocol.ts'
import { neededPaths, nodeArguments } from './node-program.ts'

/** How far into a queue the search for runs that fit into a batch goes. */
const lookedAtMax = 4 * slotsMax

/** Of all places. */
export interface PlaceOptions {
  book: RuleBook
  /** The absolute working directory of the processes. */
  cwd: string
  heapBytesMax: number
  isolation: Config['isolation']
}

/** Beside the heap and buffers of a tool, what its process and all that it starts may use; see also memory-watch.ts. */
const besideHeapBytes = 640 * 1_048_576

/**
 * What the processes of one skill have in common: its module in one revision, and what its permissions open. No two
 * skills share a process, and no two revisions of one.
 */
export class Place {
  readonly key: string
  readonly level: Confinement
  /** What a run may use with all that it starts. */
  readonly limits: Limits
  /** What it may reach; undefined where no list says that. */
  readonly list: NetworkList | undefined
  /** Runs that wait. */
  readonly queue = new List<Run>()
  /** The module as the process finds it. */
  readonly module: string
  rules: readonly AllowedPath[]
  readonly #options: PlaceOptions
  readonly #task: Task
  readonly #writable: readonly string[]
  readonly #isSecret: boolean
  readonly #source: string
  /** Batches that go as they should. */
  batches = 0
  /** Times in a row that a process ended before it was ready. */
  failures = 0

  /** @throws ConfinementError when the list of what it may reach can't be read */
  constructor (
    { key, writable, level }: { key: string, writable: readonly string[], level: Confinement },
    task: Task, module: string, options: PlaceOptions
  ) {
    const { permissions } = task.skill
    const limits = limitsOf(permissions, options.isolation)
    this.key = key
    this.level = level
    this.limits = {
      ...limits, memory_bytes_max: least(limits.memory_bytes_max, options.heapBytesMax + besideHeapBytes)
    }
    this.list = networkListOf(task.skill)
    this.#task = task
    this.#source = module
    this.#writable = writable
    this.#options = options
    this.#isSecret = options.book.holds(module) && !module.startsWith(`${task.skill.directory}/`)
    this.module = this.#isSecret ? moduleInside : module
    this.rules = this.#rulesNow()
  }

  /** The name of its skill. */
  get name (): string {
    return this.#task.skill.name
  }

  /** Finds what may be read anew, where a folder that holds secrets has changed. */
  refresh (): void {
    this.rules = this.#rulesNow()
  }

  /** @param variables those by which its processes find the way out */
  confinedOptions (
    data: ProcessData, variables: Record<string, string> = {}
  ): Omit<ConfinedOptions, 'frameBytesMax' | 'take'> {
    const { book, cwd, heapBytesMax } = this.#options
    const { network, env } = this.#task.skill.permissions
    return {
      level: this.level,
      limits: this.limits,
      network: network === true, // with a list, a proxy is the only way out
      writable: this.#writable,
      hidden: book.secrets,
      paths: [...this.rules, ...neededPaths(), { path: this.module, access: 'read' }],
      cwd,
      args: nodeArguments(data, mebibytes(heapBytesMax)),
      env: { ...threadEnvironment(process.env), ...declaredEnvironment(process.env, env), ...variables },
      ...(this.#isSecret && { module: readFileSync(this.#source) })
    }
  }

  #rulesNow (): readonly AllowedPath[] {
    const { book, cwd } = this.#options
    return book.rulesFor(this.#task.skill, cwd, this.#writable, this.level === 'strict').paths
  }
}

/** Whether the one list opens all that the other does. */
export function covers (rules: readonly AllowedPath[], others: readonly AllowedPath[]): boolean {
  if (rules === others) return true
  const open = new Set(rules.map(({ path, access }) => `${access} ${path}`))
  return others.every(({ path, access }) => open.has(`${access} ${path}`))
}

/** Whether a run may share a turn of a process with others. */
export function isShort (run: Run): boolean {
  return !run.sensitive && run.pace.short
}

/** The short runs that a process can take as one batch. */
export function fitting ({ queue }: Place): Run[] {
  const runs: Run[] = []
  let looked = 0
  let ms = 0
  for (const run of queue) {
    if (runs.length === slotsMax || looked++ === lookedAtMax || ms > batch_ms) break
    if (!isShort(run)) continue
    ms += run.pace.mean_ms
    runs.push(run)
  }
  return runs
}
