import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { messageOf, SkilletError, type Confinement } from '../../../kernel/index.ts'
import { proxyPort, servePassedSocket, type TakeSocket } from '../network/passed-socket.ts'
import { compiledFile } from './compiled.ts'
import { FrameError, frameOf, FrameReader } from './frames.ts'
import { levelArgs } from './level-args.ts'
import { limitNumbers, type Excess, type Limits } from './limits.ts'
import type { AllowedPath } from './rules.ts'

/** What is run, and what it may do. */
export interface ConfinedCommand {
  /** By default `sandbox`. */
  level?: Confinement
  /** What it may use with all that it starts; by default as much as there is. */
  limits?: Limits
  network: boolean
  /** Serves the socket of a proxy that listens on `proxyPort` inside. Where it can't be served, the program ends. */
  takeSocket?: TakeSocket
  /** Absolute paths that are writable; they are among `paths`, too. */
  writable: readonly string[]
  /** Secret paths that exist, which are hidden. */
  hidden: readonly string[]
  paths: readonly AllowedPath[]
  cwd: string
  /** The arguments, the first of which is the program's absolute path. */
  args: readonly string[]
  /** The whole environment, but for TMPDIR. */
  env: Readonly<Record<string, string>>
  /** A module that the program finds at `moduleInside`, since its own place is secret. */
  module?: Buffer
}

/** A program that speaks to the server by frames. */
export interface ConfinedOptions extends ConfinedCommand {
  /** The longest frame that is taken, in bytes. */
  frameBytesMax: number
  /** The value of a frame that the program sent. It may be anything. */
  take (value: unknown): void
}

/** How a program ended. */
export interface ConfinedEnd {
  /** Undefined when it was ended by a signal, or never began. */
  code: number | undefined
  signal: string | undefined
  /** The end of what it wrote to standard error. */
  stderr: string
  /** What it sent that is no frame, for which it was ended. */
  refused: string | undefined
  /** The limit for which it was ended. */
  exceeded: Excess | undefined
}

/** Where the program finds its module. */
export const moduleInside = '/tmp/skill-1/module.mjs'
/** watch.c: which limit it says that it has exceeded. */
export const excesses: Readonly<Record<string, Excess>> = { m: 'memory', p: 'processes', t: 'cpu' }
/** Kept of standard error, in characters. */
const stderrMax = 8_192
/** program.c: the program ended by this signal and more, or could not be started. */
const bySignal = 128
const signals: Readonly<Record<number, string>> = {
  4: 'SIGILL', 5: 'SIGTRAP', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE',
  15: 'SIGTERM', 31: 'SIGSYS'
}

/** The program in C that enters the sandbox; undefined where the build found no compiler for this system. */
export function confinedProgram (): string | undefined {
  return compiledFile(new URL('./program', import.meta.url))
}

/**
 * A program in a sandbox of its own, from the server's side: it and the server send each other frames. All that it
 * started ends with it, and it ends with the server. It does not keep the server's process alive unless `hold` says so.
 */
export class ConfinedProgram {
  readonly #process: ChildProcess
  readonly #channel: Socket
  /** What watch.c hears and says. */
  readonly #control: Socket
  readonly #stopServing: () => void
  #exceeded: Excess | undefined
  #whenClean: (() => void) | undefined
  #stderr = ''
  #refused: string | undefined
  /** Resolves when it has ended, and all that it had sent was taken. */
  readonly ended: Promise<ConfinedEnd>

  /**
   * Starts it.
   * @param file the program in C
   * @throws SkilletError OVERLOADED when the system has no room for it
   */
  constructor (file: string, options: ConfinedOptions) {
    const { takeSocket } = options
    const child = spawn(file, sandboxArguments(options), {
      cwd: '/', env: {}, detached: true,
      stdio: [takeSocket === undefined ? 'ignore' : 'ipc', 'ignore', 'pipe', 'pipe', 'pipe']
    })
    this.#process = child
    child.on('error', () => {}) // the missing pid already shows the failure
    // Node leaves out `stdio`, against its types, when it had no file descriptor for the pipes.
    const stdio: unknown = child.stdio
    const [, , , channel, control]: unknown[] = Array.isArray(stdio) ? stdio : []
    if (!(channel instanceof Socket) || !(control instanceof Socket)) {
      throw new SkilletError('OVERLOADED', 'The system has no room for another process; try again later')
    }
    this.#channel = channel
    this.#control = control
    control.on('data', (bytes: Buffer) => { this.#hear(bytes.toString('latin1')) }).on('error', () => {})
    const reader = new FrameReader(options.frameBytesMax, options.take)
    channel.on('data', (chunk: Buffer) => { this.#read(reader, chunk) }).on('error', () => {})
    child.stderr?.setEncoding('utf8')
      .on('data', (text: string) => { this.#stderr = (this.#stderr + text).slice(-stderrMax) })
      .on('error', () => {})
    this.#stopServing = takeSocket === undefined ? () => {} : servePassedSocket(child, takeSocket, error => {
      this.#stderr = messageOf(error)
      this.kill()
    })
    this.ended = new Promise(resolve => {
      // `close`, not `exit`: what it sent last is taken first.
      child.once('close', code => { resolve(this.#end(code)) })
      const failed = ({ message }: Error): void => { resolve({ ...this.#end(null), stderr: message }) }
      if (child.pid === undefined) child.once('error', failed)
    })
    channel.write(firstMessage(options))
    this.hold(false)
  }

  /** The process that waits for the one inside; undefined where it could not be started. */
  get pid (): number | undefined {
    return this.#process.pid
  }

  /** Whether frames that come are no longer taken. */
  get refused (): boolean {
    return this.#refused !== undefined
  }

  /** Sends a frame. All frames of one turn of the event loop go out in one write. */
  send (value: object): void {
    const channel = this.#channel
    if (!channel.writable) return
    if (channel.writableCorked === 0) {
      channel.cork()
      process.nextTick(() => { channel.uncork() })
    }
    channel.write(frameOf(value))
  }

  /** A run begins: what it uses of the processor counts from now on. */
  begin (): void {
    if (this.#control.writable) this.#control.write('b')
  }

  /**
   * Ends the program, with all that it started, where processes beside it are left of its runs.
   * @param then called when there are none
   */
  clean (then: () => void): void {
    this.#whenClean = then
    if (this.#control.writable) this.#control.write('e')
  }

  /** Takes nothing more that it sends, and ends it. */
  refuse (reason: string): void {
    this.#refused ??= reason
    this.kill()
  }

  /** Ends it at once, with all that it started. */
  kill (): void {
    this.#process.kill('SIGKILL')
  }

  /** Keeps the server's process alive until the program has ended, or lets it end before. */
  hold (alive: boolean): void {
    const { stderr } = this.#process
    for (const handle of [this.#process, this.#channel, this.#control, ...(stderr instanceof Socket ? [stderr] : [])]) {
      if (alive) handle.ref()
      else handle.unref()
    }
  }

  #hear (letters: string): void {
    for (const letter of letters) {
      this.#exceeded ??= excesses[letter]
      if (letter !== 'c') continue
      const then = this.#whenClean
      this.#whenClean = undefined
      then?.()
    }
  }

  #read (reader: FrameReader, chunk: Buffer): void {
    if (this.#refused !== undefined) return
    try {
      reader.add(chunk)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.refuse(error.message)
    }
  }

  #end (code: number | null): ConfinedEnd {
    const signal = code === null ? 'SIGKILL' : code > bySignal ? signals[code - bySignal] : undefined
    this.#stopServing()
    return {
      code: signal === undefined ? code ?? undefined : undefined, signal, stderr: this.#stderr, refused: this.#refused,
      exceeded: this.#exceeded
    }
  }
}

/** The arguments of the program in C. */
export function sandboxArguments (
  { level = 'sandbox', network, takeSocket, writable, hidden }: Omit<ConfinedCommand, 'paths' | 'args'>
): string[] {
  return [
    '--sandbox', '--network', network ? 'on' : 'off', ...levelArgs(level),
    ...(takeSocket === undefined ? [] : ['--proxy', String(proxyPort)]),
    ...writable.flatMap(path => ['--write', path]), ...hidden.flatMap(path => ['--hide', path])
  ]
}

const unlimited: Limits = { memory_bytes_max: 0, processes_max: 0, cpu_ms_max: 0 }

/** See program.c. */
export function firstMessage (command: ConfinedCommand): Buffer {
  const { paths, cwd, args, env, module = Buffer.alloc(0), limits = unlimited } = command
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const allowed = paths.map(({ path, access }) => `${access === 'write' ? 'w' : 'r'}${path}`)
  const texts = [...allowed, cwd, ...args, ...variables]
  const numbers = Buffer.alloc(32)
  const text = Buffer.from(texts.map(one => `${one}\0`).join(''))
  const values = [
    28 + text.length + module.length, paths.length, args.length, variables.length, module.length,
    ...limitNumbers(limits)
  ]
  for (const [i, value] of values.entries()) numbers.writeUInt32LE(value, 4 * i)
  return Buffer.concat([numbers, text, module])
}
