import { createHash } from 'node:crypto'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { isAlive, messageOf, thisProcess, type Logger } from '../../kernel/index.ts'
import { ask, type Engine, type EngineFinder } from './engine.ts'
import type { Remover } from './remover.ts'

/** How long an engine may take to list containers, in milliseconds. */
const list_ms = 20_000
const ownerLabel = 'io.skillet.owner'
const placeLabel = 'io.skillet.place'

/**
 * Finds containers that a process left when it was killed: the labels of each tell the process that started it, and its
 * data directory and machine. Nothing asks an engine before the first container was started with the data directory.
 */
export class Leftovers {
  /** The labels of the containers of this process. */
  readonly labels: Readonly<Record<string, string>>
  readonly #place: string
  /** This file says that containers were started. */
  readonly #mark: string
  readonly #remover: Remover
  readonly #log: Logger
  #searched: Promise<void> | undefined
  #marked: Promise<void> | undefined

  constructor (data_dir: string, remover: Remover, log: Logger) {
    const { pid, started } = thisProcess()
    this.#place = createHash('sha256').update(`${hostname()}\0${data_dir}`).digest('hex').slice(0, 32)
    this.labels = { [ownerLabel]: `${pid} ${started}`, [placeLabel]: this.#place }
    this.#mark = join(data_dir, 'cache', 'containers')
    this.#remover = remover
    this.#log = log
  }

  /** Removes what others left, once in a process, where containers were ever started. */
  async searchOnce (finder: EngineFinder): Promise<void> {
    if (this.#searched === undefined && !await access(this.#mark).then(() => true, () => false)) return
    await this.#search(async () => await finder.find())
  }

  /** To be called before a container is started. Does not wait for the search. */
  async begin (engine: Engine): Promise<void> {
    if (this.#searched !== undefined) return
    const marked = this.#marked ??= this.#writeMark() // one for all runs, so that they stay in their order
    try {
      await marked
    } finally {
      this.#marked = undefined
    }
    void this.#search(async () => engine)
  }

  async #writeMark (): Promise<void> {
    await mkdir(dirname(this.#mark), { recursive: true, mode: 0o700 })
    await writeFile(this.#mark, '', { mode: 0o600 })
  }

  #search (find: () => Promise<Engine>): Promise<void> {
    return this.#searched ??= find().then(engine => this.#removeDead(engine)).catch((error: unknown) => {
      this.#searched = undefined // the next container looks again
      this.#log.warn({ error: messageOf(error) }, 'could not look for containers that an earlier process left')
    })
  }

  async #removeDead (engine: Engine): Promise<void> {
    const listed = await this.#ask(engine, ['ps', '--all', '--quiet', '--filter', `label=${placeLabel}=${this.#place}`])
    const ids = listed.split(/\s+/).filter(id => /^[0-9a-f]+$/.test(id))
    if (ids.length === 0) return
    const format = `{{.Name}} {{index .Config.Labels "${ownerLabel}"}}`
    // One that ends meanwhile makes the command fail; the others are told all the same.
    const { stdout } = await ask(engine, ['inspect', '--format', format, ...ids], list_ms)
    const dead = stdout.split('\n').flatMap(nameIfDead)
    if (dead.length === 0) return
    this.#log.warn({ containers: dead }, 'removing containers that an earlier process left when it was killed')
    await Promise.all(dead.map(async name => { await this.#remover.remove(engine, name, false) }))
  }

  async #ask (engine: Engine, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await ask(engine, args, list_ms)
    if (code === 0) return stdout
    throw new Error(`${engine.name} ${args[0]} failed: ${stderr}`)
  }
}

/** The name of a container whose process has ended. docker puts a `/` before names. */
function nameIfDead (line: string): string[] {
  const [, name, pid, started] = /^\/?([\w.-]+) (\d+) (.+)$/.exec(line) ?? []
  if (name === undefined || pid === undefined || started === undefined) return []
  return isAlive({ pid: Number(pid), started }) ? [] : [name]
}
