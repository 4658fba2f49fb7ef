import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { isObject } from '../../../kernel/index.ts'
import { ConfinedProgram, type ConfinedEnd, type ConfinedOptions } from '../sandbox/confined-program.ts'
import type { MemoryWatch } from '../sandbox/memory-watch.ts'
import type { Given } from './report.ts'

/** What a process reported, which may be anything that JSON can hold, or why there is nothing. */
export type ModuleReport = { found: unknown } | { fault: string }

/** A process that reads one module. */
export interface ModuleProcess extends
  Omit<ConfinedOptions, 'network' | 'writable' | 'args' | 'take' | 'module'> {
  /** The program in C that enters the sandbox. */
  program: string
  /** The program that reads the module: a file that calls `reportModule`, bundled by the build. */
  entry: string
  given: Given<object>
  /** The module, where the process finds it at `moduleInside`. */
  contents?: Buffer
  /** How long reading may take, in milliseconds. */
  limit_ms: number
  /** The heap that the module may use, in bytes. */
  heap_bytes_max: number
  memory: MemoryWatch
  /** Ends the process. */
  signal: AbortSignal
  /** Its code begins to run. */
  onReady? (): void
}

/** How long a process may take to start on a busy machine, in milliseconds. */
const start_ms = 60_000

/**
 * Reads a module in a process of its own in the sandbox, without network, and with nothing to write to. Code of the
 * skill runs there, so nothing that comes from it is believed: a report concerns this module alone.
 * @returns a fault for whatever the code does: it throws, hangs, ends its process, or uses too much memory
 * @throws SkilletError OVERLOADED when the system has no room for a process
 */
export async function readModule (options: ModuleProcess): Promise<ModuleReport> {
  const { memory, signal } = options
  if (signal.aborted) return stopped
  const reader = new Reader(options)
  const stop = (): void => { reader.settle(stopped) }
  const watched = { pid: reader.pid, since_ms: performance.now(), exhausted: () => { reader.settle(tooMuchMemory) } }
  memory.add(watched)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await reader.report()
  } finally {
    signal.removeEventListener('abort', stop)
    memory.delete(watched)
  }
}

/** The server's end of a process that reads one module. */
class Reader {
  readonly #options: ModuleProcess
  readonly #program: ConfinedProgram
  #report: ModuleReport | undefined
  #isReady = false
  #timer: NodeJS.Timeout | undefined

  constructor (options: ModuleProcess) {
    const { program, entry, given, contents, heap_bytes_max, ...confined } = this.#options = options
    const heap_mib = Math.ceil(heap_bytes_max / 1_048_576)
    this.#program = new ConfinedProgram(program, {
      ...confined,
      network: false,
      writable: [],
      paths: [...confined.paths, ...neededPaths(entry)],
      args: [process.execPath, `--max-old-space-size=${heap_mib}`, entry, JSON.stringify(given)],
      ...(contents !== undefined && { module: contents }),
      take: value => { this.#take(value) }
    })
    this.#program.hold(true)
    this.#limit(start_ms)
  }

  get pid (): number | undefined {
    return this.#program.pid
  }

  /** Ends the process, for this reason unless there is another one. */
  settle (report: ModuleReport): void {
    this.#report ??= report
    this.#program.kill()
  }

  /** Resolves when the process has ended, with all that it started. */
  async report (): Promise<ModuleReport> {
    const end = await this.#program.ended
    clearTimeout(this.#timer)
    return this.#report ?? { fault: this.#isReady ? faultOf(end) : notStarted(end) }
  }

  #take (value: unknown): void {
    if (this.#program.refused) return
    const { type, found } = isObject(value) ? value : {}
    if (type === 'ready' && !this.#isReady) {
      this.#isReady = true
      this.#limit(this.#options.limit_ms)
      this.#options.onReady?.()
      if (this.#options.given.module === undefined) this.settle({ found: undefined })
    } else if (type === 'found' && this.#isReady) this.settle({ found })
    else this.#program.refuse('a message that makes no sense')
  }

  #limit (ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => { this.settle({ fault: `it took longer than ${ms / 1000} s to read` }) }, ms)
  }
}

/** Node's exit code where a module awaits at its top level, and nothing is left that could go on. */
const waitsForever = 13
const stopped: ModuleReport = { fault: 'the server is stopping' }
const tooMuchMemory = { fault: 'its module used up the memory it may have' }

function faultOf (end: ConfinedEnd): string {
  const { signal, stderr, refused } = end
  if (refused !== undefined) return `its module sent the server ${refused} while it was read`
  if (signal !== undefined && stderr.includes('heap out of memory')) return tooMuchMemory.fault
  const thrown = /^\w*Error: .*$/m.exec(stderr)?.[0].slice(0, 500)
  if (signal === undefined && end.code === waitsForever) {
    return 'its module waits at its top level for something that never comes'
  }
  return `its module ended the process in which it was read, ${how(end)}${thrown === undefined ? '' : `: ${thrown}`}`
}

function notStarted (end: ConfinedEnd): string {
  return end.stderr.trim().split('\n').at(-1) || `a confined process of Node ended ${how(end)}`
}

function how ({ code, signal }: ConfinedEnd): string {
  return signal === undefined ? `with code ${code ?? 'unknown'}` : `by ${signal}`
}

/** What Node itself and the entry need, where other rules open only what they name. */
function neededPaths (entry: string): ConfinedOptions['paths'] {
  const paths = new Set([process.execPath, realpathSync(process.execPath), dirname(entry)])
  return Array.from(paths, path => ({ path, access: 'read' as const }))
}
