import type { ExecutionQuery } from '../../kernel/index.ts'
import type { Environment } from './environment.ts'

/**
 * The number of pairs of skill and tool that get a number. Executions of further pairs get number 0, and filters read
 * their rows.
 */
const namesMax = 60_000

/** The verdict of a filter by name about a number; `look` means that the row must be read. */
export const nameVerdict = { no: 0, yes: 1, look: 2 } as const

/**
 * Numbers for pairs of skill and tool, so that a filter compares integers. The table on disk only grows, up to
 * `namesMax` pairs.
 */
export class Names {
  readonly #env: Environment
  readonly #max: number
  #numbers = new Map<string, Map<string, number>>() // by skill, then tool
  #pairs: [string, string][] = []

  constructor (env: Environment, max = namesMax) {
    this.#env = env
    this.#max = max
  }

  /** Reads the pairs that other processes, or this one, have added. */
  refresh (): void {
    for (let text = this.#next(); text !== undefined; text = this.#next()) {
      this.#add(JSON.parse(text) as [string, string]) // written by `numberOf`
    }
  }

  /** The number of a pair; a new number if the pair has none yet. Within a transaction, after `refresh`. */
  numberOf (skill_name: string, tool_name: string): number {
    const existing = this.#numbers.get(skill_name)?.get(tool_name)
    if (existing !== undefined) return existing
    if (this.#pairs.length >= this.#max) return 0
    this.#env.names.putSync(this.#pairs.length + 1, JSON.stringify([skill_name, tool_name]))
    return this.#add([skill_name, tool_name])
  }

  /** Clears the table in memory after a failed transaction; `refresh` reads it again. */
  forget (): void {
    this.#numbers = new Map()
    this.#pairs = []
  }

  /** The pair with a number, as far as `refresh` has read; undefined for number 0. */
  pairOf (number: number): readonly [skill_name: string, tool_name: string] | undefined {
    return this.#pairs[number - 1]
  }

  /** The verdicts by number; undefined when there is no filter by name. */
  verdicts (
    { skill_name, tool_name, allows }: Pick<ExecutionQuery, 'skill_name' | 'tool_name' | 'allows'>
  ): Uint8Array | undefined {
    if (skill_name === undefined && tool_name === undefined && allows === undefined) return undefined
    const verdicts = new Uint8Array(2 ** 16)
    verdicts[0] = nameVerdict.look
    this.#pairs.forEach(([skill, tool], index) => {
      if ((skill_name ?? skill) === skill && (tool_name ?? tool) === tool && allows?.(skill, tool) !== false) {
        verdicts[index + 1] = nameVerdict.yes
      }
    })
    return verdicts
  }

  #next (): string | undefined {
    return this.#env.names.get(this.#pairs.length + 1)
  }

  #add (pair: [string, string]): number {
    const number = this.#pairs.push(pair)
    const [skill_name, tool_name] = pair
    const tools = this.#numbers.get(skill_name)
    if (tools === undefined) this.#numbers.set(skill_name, new Map([[tool_name, number]]))
    else tools.set(tool_name, number)
    return number
  }
}
