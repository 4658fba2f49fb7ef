import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { isObject } from '../json.ts'
import { selectedMax, type Answer, type Selecting, type Selection } from './selection.ts'

/** The memory limit of a process that selects, and the limit of its heap, in mebibytes. */
export interface SelectorLimits { readonly memoryMiB: number, readonly heapMiB: number }

/** The longest message that is read, in bytes: a selection with every character escaped, and the fields around it. */
const messageBytesMax = 6 * selectedMax + 4_096

/**
 * A process that runs one selection after another. Its messages are checked completely; the first invalid message ends
 * the process.
 */
export class Selector {
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>
  readonly #child: ChildProcess
  readonly #channel: Socket | undefined
  #message: Buffer[] = []
  #bytes = 0
  #answer: ((answer: Answer) => void) | undefined
  /** Why the process ends or has ended; undefined while it can select. */
  #why: string | undefined

  /** @param program path of `select-process.js` */
  constructor (program: string, limits: SelectorLimits) {
    const child = this.#child = spawn(
      process.execPath,
      [`--max-old-space-size=${limits.heapMiB}`, program, String(limits.memoryMiB)],
      { env: {}, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] }
    )
    this.gone = new Promise(resolve => {
      child.once('close', (status, signal) => {
        // V8 also ends the process by a signal when its heap is full.
        this.#fail(
          signal === null ? `its process ended with ${status}` : `it took more than ${limits.memoryMiB} MiB of memory`
        )
        resolve()
      })
      child.once('error', error => {
        this.#fail(error.message)
        if (child.pid === undefined) resolve()
      })
    })
    const channel = child.stdio[3]
    if (!(channel instanceof Socket)) return
    this.#channel = channel
    // the end of the process reports it
    channel.on('data', (chunk: Buffer) => { this.#take(chunk) }).on('error', () => {})
    this.#hold(false)
  }

  /** Whether the process can run another selection. */
  get usable (): boolean {
    return this.#why === undefined
  }

  /**
   * Runs a selection. Only one selection may run at a time.
   * @param time_ms the time limit, in milliseconds
   */
  async select (request: Selecting, time_ms: number): Promise<Answer> {
    if (this.#why !== undefined) return failed(this.#why)
    this.#hold(true)
    const limit = setTimeout(() => { this.#end(`it took longer than ${time_ms} ms`) }, time_ms)
    try {
      return await new Promise<Answer>(resolve => {
        this.#answer = resolve
        this.#channel?.write(`${JSON.stringify(request)}\n`)
      })
    } finally {
      clearTimeout(limit)
      this.#answer = undefined
      if (this.#why === undefined) this.#hold(false)
    }
  }

  /**
   * Ends the process, and rejects a selection that still runs. Resolves when the process has ended.
   * @param why the reason, for the caller of that selection
   */
  end (why: string): Promise<void> {
    this.#end(why)
    return this.gone
  }

  #end (why: string): void {
    if (this.#child.pid !== undefined) this.#hold(true) // until the process is known to have ended
    this.#fail(why)
    this.#child.kill('SIGKILL')
  }

  #fail (why: string): void {
    this.#why ??= why
    this.#answer?.(failed(this.#why))
  }

  #take (chunk: Buffer): void {
    if (this.#why !== undefined) return
    const end = chunk.indexOf(10)
    this.#message.push(end === -1 ? chunk : chunk.subarray(0, end))
    this.#bytes += chunk.length
    if (end === -1 && this.#bytes <= messageBytesMax) return
    const answer = this.#bytes <= messageBytesMax && end === chunk.length - 1
      ? readAnswer(Buffer.concat(this.#message))
      : undefined
    this.#message = []
    this.#bytes = 0
    if (answer === undefined || this.#answer === undefined) {
      return this.#end('its process said something that is not understood')
    }
    this.#answer(answer)
  }

  /** Only a process that works, or that must still end, keeps the parent process alive. */
  #hold (held: boolean): void {
    for (const handle of [this.#child, this.#channel]) handle?.[held ? 'ref' : 'unref']()
  }
}

function failed (why: string): Answer {
  return { selection: { failure: `nothing was selected: ${why}` }, spent: true }
}

/** Parses a message of the process; undefined for an invalid message. */
function readAnswer (bytes: Buffer): Answer | undefined {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
  if (!isObject(value) || typeof value['spent'] !== 'boolean' || Object.keys(value).length !== 2) return undefined
  const selection = readSelection(value['selection'])
  return selection === undefined ? undefined : { selection, spent: value['spent'] }
}

function readSelection (value: unknown): Selection | undefined {
  const [field, ...more] = isObject(value) ? Object.entries(value) : []
  if (field === undefined || more.length > 0) return undefined
  const [kind, text] = field
  if (typeof text !== 'string' || text.length > selectedMax) return undefined
  switch (kind) {
    case 'text': return { text }
    case 'failure': return { failure: text }
    case 'invalid': return { invalid: text }
    default: return undefined
  }
}
