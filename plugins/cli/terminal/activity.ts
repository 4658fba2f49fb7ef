import type { LogLevel } from '../../../kernel/index.ts'
import { steady } from './layout.ts'
import type { Terminal } from './terminal.ts'

/** How long a run may take before the spinner is shown, in milliseconds. */
const patience_ms = 400
const barWidth = 20

/** Shows a run on standard error while it lasts: a spinner with its progress, and the lines that it logs. */
export class Activity {
  readonly #terminal: Terminal
  readonly #name: string
  readonly #began_ms = performance.now()
  #progress = ''
  /** Whether the cursor is at the beginning of a line, according to the text written so far. */
  #atStart = true
  #timer: NodeJS.Timeout | undefined
  #spinner: { text: string, stop (): unknown } | undefined
  #ended = false
  #pauses = 0

  /** @param name the tool that runs, such as `git:log` */
  constructor (terminal: Terminal, name: string) {
    this.#terminal = terminal
    this.#name = name
    const { TERM, CI } = terminal.env
    if (terminal.watched && TERM !== 'dumb' && CI === undefined) {
      this.#timer = setInterval(() => { void this.#spin() }, patience_ms)
    }
  }

  progress (done: number, total: number | undefined, message = ''): void {
    const part = total === undefined || total <= 0 ? String(done) : `${bar(done / total)} ${done}/${total}`
    this.#progress = `${part} ${oneLine(message)}`.trimEnd()
    this.#show()
  }

  log (level: LogLevel, text: string): void {
    const { err: { dim, red, yellow } } = this.#terminal.colors
    const style = { debug: dim, info: (label: string) => label, warn: yellow, error: red }[level]
    this.#terminal.err(`${style(level)}: ${this.#terminal.watched ? steady(text) : text}\n`)
  }

  /** Must be called with text that was written to standard output. */
  wrote (text: string): void {
    if (text !== '') this.#atStart = text.endsWith('\n')
  }

  /** Shows nothing until the returned function is called. */
  readonly pause = (): () => void => {
    this.#pauses++
    this.#spinner?.stop()
    this.#spinner = undefined
    return () => { this.#pauses-- }
  }

  end (): void {
    this.#ended = true
    clearInterval(this.#timer)
    this.#spinner?.stop()
  }

  /** Starts the spinner after the waiting time, if the cursor is not within a line; later it updates the seconds. */
  async #spin (): Promise<void> {
    if (this.#spinner !== undefined) return this.#show()
    if (!this.#atStart || this.#pauses > 0) return
    const { default: spinner } = await import('yocto-spinner')
    // Ctrl-C is handled in one place, which cancels the execution.
    if (!this.#ended && this.#pauses === 0 && this.#spinner === undefined) {
      this.#spinner = spinner({ text: this.#text(), stream: process.stderr, handleSignals: false }).start()
    }
  }

  #show (): void {
    if (this.#spinner !== undefined) this.#spinner.text = this.#text()
  }

  #text (): string {
    const seconds = Math.floor((performance.now() - this.#began_ms) / 1000)
    const text = `${this.#name} ${this.#progress}`.trimEnd() + (seconds < 1 ? '' : ` (${seconds} s)`)
    return text.slice(0, (process.stderr.columns || 80) - 3)
  }
}

function bar (share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`
}

function oneLine (text: string): string {
  return steady(text).replaceAll(/\s+/g, ' ').trim()
}
