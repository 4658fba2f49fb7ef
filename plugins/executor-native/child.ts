import { spawn, type ChildProcess } from 'node:child_process'
import { Head, Tail } from './capture.ts'
import { signalGroup } from './group.ts'
import { locate } from './locate.ts'
import type { EndedMessage, OutputStream, RunMessage } from './protocol.ts'

/** The time between SIGTERM and SIGKILL, in which a command can end, in milliseconds. */
const term_ms = 300
/** The time for which other processes may hold a command's output open after it has exited, in milliseconds. */
const grace_ms = 100
/**
 * The time for which the helper waits for a command after SIGKILL, in milliseconds; only a command that hangs in the
 * kernel lives so long.
 */
const unkillable_ms = 2_000
/** The bytes of standard error that are kept. */
const stderrBytesMax = 4096

/** The callbacks for a run. Each run ends with exactly one call of `refused` or `ended`. */
export interface ChildEvents {
  started (pid: number): void
  /** Called with the next piece of what the command writes, if the run is `live`. */
  output (stream: OutputStream, piece: Buffer): void
  refused (error: NodeJS.ErrnoException): void
  ended (how: Omit<EndedMessage, 'type' | 'id'>, stdout: Buffer): void
}

/** The process of a command, and its process group, from start to end. It is used in the helper. */
export class Child {
  readonly #events: ChildEvents
  readonly #process: ChildProcess | undefined
  readonly #stdout: Head
  readonly #stderr = new Tail(stderrBytesMax)
  readonly #outputBytesStop: number
  #timer: NodeJS.Timeout | undefined
  /** The number of the newest timer; older timers have no effect. */
  #timers = 0
  #exit: { exit_code: number | null, signal: NodeJS.Signals | null } | undefined
  #stopping = false
  #flooded = false
  #done = false

  constructor (
    { program, args, cwd, env, stdin, live, output_bytes_max, output_bytes_stop }: RunMessage,
    input: Buffer,
    events: ChildEvents
  ) {
    this.#events = events
    this.#stdout = new Head(output_bytes_max)
    this.#outputBytesStop = output_bytes_stop
    let child
    try {
      // Detached: the command gets a process group of its own, so that all processes that it starts can be ended with
      // it.
      child = spawn(locate(program, env['PATH'] ?? ''), args, {
        argv0: program, cwd, env, detached: true, stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe']
      })
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
      if (live && kept > 0 && !this.#done) events.output('stdout', chunk.subarray(0, kept))
      this.#count()
    }).on('error', () => {})
    child.stderr?.on('data', (chunk: Buffer) => {
      const sent = Math.min(chunk.length, Math.max(0, output_bytes_max - this.#stderr.bytes))
      if (live && sent > 0 && !this.#done) events.output('stderr', chunk.subarray(0, sent))
      this.#stderr.add(chunk)
      this.#count()
    }).on('error', () => {})
    // A command need not read its input, so EPIPE is not a failure.
    child.stdin?.on('error', () => {}).end(input)
    child.on('exit', (exit_code, signal) => { this.#exited(exit_code, signal) })
    child.on('close', () => { this.#finish() })
  }

  /** Whether the command has ended, or could not be started. */
  get done (): boolean {
    return this.#done
  }

  /** Ends the command: SIGTERM to the group, then SIGKILL. */
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

  /** Ends the command at once, without waiting. */
  kill (): void {
    this.#signal('SIGKILL')
  }

  #count (): void {
    if (this.#flooded || this.#stdout.bytes + this.#stderr.bytes <= this.#outputBytesStop) return
    this.#flooded = true
    // The output is not read any more: a command that goes on writing gets SIGPIPE.
    this.#process?.stdout?.destroy()
    this.#process?.stderr?.destroy()
    this.stop()
  }

  #exited (exit_code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { exit_code, signal }
    // Most often `close` follows at once. When other processes of the command hold its output open, they are killed;
    // processes that have left the group are no longer waited for.
    this.#after(grace_ms, () => {
      this.#signal('SIGKILL')
      this.#after(grace_ms, () => { this.#finish() })
    })
  }

  #finish (): void {
    if (this.#done || this.#exit === undefined) return
    this.#done = true
    clearTimeout(this.#timer)
    this.#signal('SIGKILL') // ends the rest of the group
    for (const stream of this.#process?.stdio ?? []) stream?.destroy()
    const exceeded = this.#flooded ? 'output' as const : null
    this.#events.ended(
      { ...this.#exit, stdout_bytes: this.#stdout.bytes, exceeded, stderr: this.#stderr.text }, this.#stdout.kept
    )
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

  /**
   * Sets a timer, in place of the earlier one. When the timer fires, the data that has already arrived for this process
   * is read first.
   */
  #after (ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    const number = ++this.#timers
    // A busy helper runs timers before it polls for input: without this extra turn of the event loop, output would be
    // lost.
    this.#timer = setTimeout(() => { setImmediate(() => { if (number === this.#timers && !this.#done) then() }) }, ms)
  }
}
