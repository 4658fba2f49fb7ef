import { spawn, type ChildProcess } from 'node:child_process'
import { Head, Tail } from './capture.ts'
import { signalGroup } from './group.ts'
import { locate } from './locate.ts'
import type { EndedMessage, RunMessage } from './protocol.ts'

/** How long a command has to end after SIGTERM, before SIGKILL. */
const term_ms = 300
/** How long what a command left behind may hold its output open, after it exited. */
const grace_ms = 100
/** How long a command is waited for after SIGKILL; it can only be one that hangs within the system. */
const unkillable_ms = 2_000
/** Bytes of standard error that are kept. */
const stderrBytesMax = 4096

/** What becomes of a command. Each run ends with exactly one call of `refused` or `ended`. */
export interface ChildEvents {
  started (pid: number): void
  /** The next piece of what is kept of standard output; of a run that is `live`. */
  output (piece: Buffer): void
  refused (error: NodeJS.ErrnoException): void
  ended (how: Omit<EndedMessage, 'type' | 'id'>, stdout: Buffer): void
}

/** A command's process, and its process group, from start to end. Lives in the helper. */
export class Child {
  readonly #events: ChildEvents
  readonly #process: ChildProcess | undefined
  readonly #stdout: Head
  readonly #stderr = new Tail(stderrBytesMax)
  readonly #outputBytesStop: number
  #timer: NodeJS.Timeout | undefined
  /** Which of the timers set so far counts. */
  #turn = 0
  #exit: { exit_code: number | null, signal: NodeJS.Signals | null } | undefined
  #stopping = false
  #flooded = false
  #done = false

  constructor ({ program, args, cwd, env, stdin, live, output_bytes_max, output_bytes_stop }: RunMessage, input: Buffer, events: ChildEvents) {
    this.#events = events
    this.#stdout = new Head(output_bytes_max)
    this.#outputBytesStop = output_bytes_stop
    let child
    try {
      // Detached: a group of its own, so that all it starts can be ended with it.
      child = spawn(locate(program, env['PATH'] ?? ''), args, { argv0: program, cwd, env, detached: true, stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'] })
    } catch (error) {
      this.#refuse(error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.#process = child
    child.on('error', error => { if (child.pid === undefined) this.#refuse(error) })
    if (child.pid === undefined) return
    events.started(child.pid)
    child.stdout?.on('data', (chunk: Buffer) => {
      const kept = this.#stdout.add(chunk)
      if (live && kept > 0 && !this.#done) events.output(chunk.subarray(0, kept))
      this.#count()
    }).on('error', () => {})
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr.add(chunk)
      this.#count()
    }).on('error', () => {})
    // A command need not read its input: EPIPE is no failure.
    child.stdin?.on('error', () => {}).end(input)
    child.on('exit', (exit_code, signal) => { this.#exited(exit_code, signal) })
    child.on('close', () => { this.#finish() })
  }

  /** Whether it ended, or never began. */
  get done (): boolean {
    return this.#done
  }

  /** Ends it: SIGTERM to the group, then SIGKILL. */
  stop (): void {
    if (this.#stopping || this.#done || this.#exit !== undefined) return
    this.#stopping = true
    this.#signal('SIGTERM')
    this.#after(term_ms, () => {
      this.#signal('SIGKILL')
      this.#after(unkillable_ms, () => {
        this.#exit ??= { exit_code: null, signal: 'SIGKILL' }
        this.#finish()
      })
    })
  }

  /** Ends it at once, without waiting. */
  kill (): void {
    this.#signal('SIGKILL')
  }

  #count (): void {
    if (this.#flooded || this.#stdout.bytes + this.#stderr.bytes <= this.#outputBytesStop) return
    this.#flooded = true
    // Nobody reads on: a command that goes on writing gets SIGPIPE.
    this.#process?.stdout?.destroy()
    this.#process?.stderr?.destroy()
    this.stop()
  }

  #exited (exit_code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { exit_code, signal }
    // Most often `close` follows at once. Where something the command left behind holds its output open, that is
    // ended; and should it have left the group, it is no longer waited for.
    this.#after(grace_ms, () => {
      this.#signal('SIGKILL')
      this.#after(grace_ms, () => { this.#finish() })
    })
  }

  #finish (): void {
    if (this.#done || this.#exit === undefined) return
    this.#done = true
    clearTimeout(this.#timer)
    this.#signal('SIGKILL') // whatever is left of the group
    for (const stream of this.#process?.stdio ?? []) stream?.destroy()
    this.#events.ended({ ...this.#exit, stdout_bytes: this.#stdout.bytes, flooded: this.#flooded, stderr: this.#stderr.text }, this.#stdout.kept)
  }

  #refuse (error: NodeJS.ErrnoException): void {
    if (this.#done) return
    this.#done = true
    this.#events.refused(error)
  }

  #signal (signal: NodeJS.Signals): void {
    const pid = this.#process?.pid
    if (pid !== undefined) signalGroup(pid, signal)
  }

  /** One timer at a time. When it is due, what the system already has for this process is read first. */
  #after (ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    const turn = ++this.#turn
    // A helper that was busy finds timers due before it polls: without the turn between, output would be lost.
    this.#timer = setTimeout(() => { setImmediate(() => { if (turn === this.#turn && !this.#done) then() }) }, ms)
  }
}
