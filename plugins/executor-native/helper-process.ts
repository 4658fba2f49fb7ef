import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { messageOf } from '../../kernel/index.ts'
import { servePassedSocket } from '../toolkit/network/passed-socket.ts'
import type { Limits } from '../toolkit/sandbox/limits.ts'
import type { AllowedPath } from '../toolkit/sandbox/rules.ts'
import { Tail } from './capture.ts'
import { signalGroup } from './group.ts'
import { noRoom, type HelperProgram } from './helper-program.ts'
import { createDecoder } from './decoder.ts'
import {
  encode, outOfStep, readFromHelper, type FromHelper, type OutputStream, type RunMessage, type ToHelper
} from './protocol.ts'

/** The maximum number of rules that a helper keeps: each rule needs a descriptor there. */
const rulesMax = 256
/** The time in which the helper must end after its pipe is closed, in milliseconds. */
const end_ms = 2_000
/** A message of the helper about a run; `lost` when the helper died, and the run with it. */
export type HelperAnswer = FromHelper | { type: 'lost', reason: string }
type Listener = (answer: HelperAnswer, payload: Buffer) => void

/** The state of a run, according to the helper's messages. */
interface Started {
  readonly listener: Listener
  readonly live: boolean
  readonly rules: number
  readonly output_bytes_max: number
  pid: number | undefined
  /** The bytes of its output that were already sent as `output`. */
  readonly told_bytes: Record<OutputStream, number>
}

const nothing = Buffer.alloc(0)

/**
 * A helper process, from the server's side. While it has no runs, it does not keep the server's process alive. When it
 * dies, the server ends the process groups of its runs. One command can escape: the command that the helper was just
 * starting, and whose id it had not sent.
 */
export class HelperProcess {
  /** Resolves when the helper has exited, with the reason; undefined when it was asked to exit. */
  readonly gone: Promise<string | undefined>
  readonly #process: ChildProcess
  readonly #channel: Socket
  readonly #runs = new Map<number, Started>()
  readonly #stderr = new Tail(4096)
  #lastId = 0
  readonly #confined: boolean
  /** Ends what is served on the socket that the helper passes. */
  readonly #stopServing: () => void
  /** The rules that the helper keeps; those that were used last are last. */
  readonly #rules = new Set<number>()
  #closing = false
  #usable = true

  /**
   * Starts a helper.
   * @throws SkilletError OVERLOADED when the system has no room for it
   */
  constructor ({ file, args, env, confined = false, takeSocket }: HelperProgram) {
    this.#confined = confined
    const child = spawn(file, args, {
      cwd: '/',
      env,
      // In its own process group, the helper gets no signal from Ctrl-C, which the server handles.
      detached: true,
      stdio: [takeSocket === undefined ? 'ignore' : 'ipc', 'ignore', 'pipe', 'pipe']
    })
    this.#process = child
    // The helper starts commands once it hears that its socket is served.
    this.#stopServing = takeSocket === undefined ? () => {} : servePassedSocket(child, takeSocket, error => {
      this.#stderr.add(Buffer.from(messageOf(error)))
      this.kill()
    })
    child.on('error', () => {}) // the missing pid already shows the failure
    // Node leaves out `stdio`, against its types, when it had no file descriptor for the pipes.
    const stdio: unknown = child.stdio
    const channel: unknown = Array.isArray(stdio) ? stdio[3] : undefined
    if (!(channel instanceof Socket)) throw noRoom()
    this.#channel = channel
    const decode = createDecoder(readFromHelper, (message, payload) => { this.#take(message, payload) })
    channel.on('data', (chunk: Buffer) => { this.#decode(decode, chunk) }).on('error', () => {})
    channel.once('close', () => { this.#usable = false })
    child.once('exit', () => { this.#usable = false })
    child.stderr?.on('data', (chunk: Buffer) => { this.#stderr.add(chunk) }).on('error', () => {})
    this.gone = new Promise(resolve => {
      // `close`, not `exit`: the helper's last messages are read first.
      child.once('close', (code, signal) => { resolve(this.#ended(signal ?? `exit code ${code}`)) })
      if (child.pid === undefined) child.once('error', error => { resolve(this.#ended(error.message)) })
    })
    this.#hold(false)
  }

  /** The id of its process. */
  get pid (): number | undefined {
    return this.#process.pid
  }

  /** Whether it still accepts runs. */
  get usable (): boolean {
    return this.#usable
  }

  /** The number of runs that have not ended. */
  get load (): number {
    return this.#runs.size
  }

  /**
   * Starts a command. The listener gets the start and then the end of the run: `ended`, `refused` or `lost`.
   * @returns the run's id, for `stop`
   */
  run (request: Omit<RunMessage, 'type' | 'id' | 'stdin'>, stdin: string | undefined, listener: Listener): number {
    const id = this.#lastId = (this.#lastId + 1) >>> 0 // far fewer than 2³² commands run at once
    this.#runs.set(id, {
      listener, live: request.live, rules: request.rules, output_bytes_max: request.output_bytes_max,
      pid: undefined, told_bytes: { stdout: 0, stderr: 0 }
    })
    if (this.#runs.size === 1) this.#hold(true)
    this.#tell(
      { type: 'run', id, ...request, stdin: stdin !== undefined },
      stdin === undefined ? nothing : Buffer.from(stdin)
    )
    return id
  }

  /** Sends rules to the helper, unless it knows their id already. Old rules that no run needs are removed from it. */
  keepRules (id: number, paths: readonly AllowedPath[], limits: Limits): void {
    const isKnown = this.#rules.delete(id)
    this.#rules.add(id)
    if (isKnown) return
    this.#tell({ type: 'keep_rules', id, paths, limits }, nothing)
    if (this.#rules.size <= rulesMax) return
    const used = new Set([id, ...Array.from(this.#runs.values(), ({ rules }) => rules)])
    const unused = [...this.#rules].find(id => !used.has(id))
    if (unused === undefined) return
    this.#rules.delete(unused)
    this.#tell({ type: 'forget_rules', id: unused }, nothing)
  }

  /** Asks the helper to end a run: SIGTERM first, SIGKILL later. */
  stop (id: number): void {
    if (this.#runs.has(id)) this.#tell({ type: 'stop', id }, nothing)
  }

  /** Ends a helper that does not answer, at once; its runs are lost. */
  kill (): void {
    this.#usable = false
    this.#process.kill('SIGKILL')
  }

  /** Ends the helper and its runs. Resolves when it has exited. */
  async close (): Promise<void> {
    this.#closing = true
    this.#usable = false
    this.#hold(true)
    this.#channel.end()
    const timer = setTimeout(() => { this.kill() }, end_ms)
    await this.gone
    clearTimeout(timer)
  }

  /**
   * All messages of one turn of the event loop go out in one write: each write costs as much as the rest of the
   * server's work to start a command.
   */
  #tell (message: ToHelper, payload: Buffer): void {
    const channel = this.#channel
    if (!channel.writable) return
    if (channel.writableCorked === 0) {
      channel.cork()
      process.nextTick(() => { channel.uncork() })
    }
    channel.write(encode(message, payload))
  }

  #decode (decode: (chunk: Buffer) => void, chunk: Buffer): void {
    try {
      decode(chunk)
    } catch (error) {
      this.#stderr.add(Buffer.from(messageOf(error)))
      this.kill() // no further message can be read correctly
    }
  }

  #take (message: FromHelper, payload: Buffer): void {
    const run = this.#runs.get(message.id)
    if (run === undefined || !fits(run, message, payload)) throw outOfStep()
    switch (message.type) {
      case 'started':
        run.pid = message.pid
        break
      case 'output':
        run.told_bytes[message.stream] += payload.length
        break
      case 'refused':
      case 'ended':
        this.#runs.delete(message.id)
        if (this.#runs.size === 0) this.#hold(false)
        break
      default: message satisfies never
    }
    run.listener(message, payload)
  }

  /**
   * Keeps the server's process alive until all runs have ended or the helper's death is known; or lets the process end.
   */
  #hold (alive: boolean): void {
    const { stderr } = this.#process
    for (const handle of [this.#process, this.#channel, ...(stderr instanceof Socket ? [stderr] : [])]) {
      if (alive) handle.ref()
      else handle.unref()
    }
  }

  #ended (how: string): string | undefined {
    const runs = [...this.#runs.values()]
    this.#runs.clear()
    this.#stopServing()
    // The process ids of a confined helper belong to its own namespace; the system ends its processes with it.
    if (!this.#confined) for (const { pid } of runs) if (pid !== undefined) signalGroup(pid, 'SIGKILL')
    const stderr = this.#stderr.text.trim()
    const reason = stderr === '' ? how : `${how}: ${stderr}`
    for (const { listener } of runs) listener({ type: 'lost', reason }, nothing)
    return this.#closing ? undefined : reason
  }
}

/** Whether a message is possible in this state of a run: in the right order, with no more output than is kept. */
function fits ({ pid, live, output_bytes_max, told_bytes }: Started, message: FromHelper, { length }: Buffer): boolean {
  switch (message.type) {
    case 'started': return pid === undefined && length === 0
    case 'refused': return pid === undefined && length === 0
    case 'output': return pid !== undefined && live && told_bytes[message.stream] + length <= output_bytes_max
    case 'ended': return pid !== undefined && length <= Math.min(output_bytes_max, message.stdout_bytes)
  }
}
