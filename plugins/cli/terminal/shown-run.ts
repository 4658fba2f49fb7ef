import {
  getExecution, parameterLines, SkilletError, type Call, type Gateway, type Tool
} from '../../../kernel/index.ts'
import { usage } from '../options/target.ts'
import { Activity } from './activity.ts'
import { steady } from './layout.ts'
import { terminalQuestions } from './questions.ts'
import type { Terminal } from './terminal.ts'

interface Result { execution_id: string, output: string }

/**
 * Runs a tool and shows its progress, log lines and output, while it runs if the executor supports that. The person at
 * the terminal answers what the tool asks.
 * @param run runs the tool
 * @param json whether only the result is printed, as JSON
 * @throws SkilletError
 */
export async function showRun (
  gateway: Gateway, skill_name: string, tool: Tool, terminal: Terminal, json: boolean, call: Call,
  run: (call: Call) => Promise<Result>
): Promise<void> {
  const shown = new Shown(gateway, `${skill_name}:${tool.name}`, terminal, !json)
  try {
    const result = await run({ ...call, questions: terminalQuestions(terminal, shown.pause) })
    shown.end()
    if (json) terminal.out(`${JSON.stringify(result)}\n`)
    else shown.finish(result.output)
  } catch (error) {
    shown.end()
    if (!json && error instanceof SkilletError) shown.finish(await outputSoFar(gateway, error, call))
    throw withUsage(shown.hasErrors ? withoutStderr(error) : error, skill_name, tool)
  }
}

/** Adds to an error about parameters the parameters of the tool, and an example of a call. */
function withUsage (error: unknown, skill_name: string, tool: Tool): unknown {
  if (!(error instanceof SkilletError) || error.code !== 'INVALID_PARAMETERS' || error.details['tool'] !== tool.name) {
    return error
  }
  const lines = parameterLines(tool).map(line => `\n- ${line}`).join('')
  const named = lines === ''
    ? `${skill_name}:${tool.name} takes no parameters`
    : `Parameters of ${skill_name}:${tool.name}:${lines}`
  return new SkilletError(
    error.code,
    `${error.message}\n${named}\nSuch as: ${`skillet run ${skill_name}:${tool.name} ${usage(tool)}`.trim()}`,
    error.details
  )
}

/** An error without what the tool wrote to standard error, which is on the terminal already. */
function withoutStderr (error: unknown): unknown {
  if (!(error instanceof SkilletError)) return error
  const { stderr: _shown, ...details } = error.details
  return new SkilletError(error.code, error.message, details, { cause: error.cause })
}

/** Shows progress, log lines, output and standard error of a run while it lasts. */
class Shown {
  readonly #activity: Activity
  readonly #terminal: Terminal
  readonly #stops: (() => void)[]
  /** The number of characters of the output that are printed. */
  #printed = 0
  /** The last character of standard error that is printed. */
  #lastError = ''

  /** @param live whether output is printed while the tool runs */
  constructor ({ bus }: Gateway, name: string, terminal: Terminal, live: boolean) {
    const activity = this.#activity = new Activity(terminal, name)
    this.#terminal = terminal
    this.#stops = [
      bus.on('log', ({ level, text }) => { activity.log(level, text) }),
      bus.on('progress', ({ done, total, message }) => { activity.progress(done, total, message) }),
      ...(live ? [
        bus.on('output', ({ text }) => { this.#print(text) }),
        bus.on('stderr', ({ text }) => { this.#printError(text) })
      ] : [])
    ]
  }

  /** Shows no activity until the returned function is called. */
  readonly pause = (): () => void => this.#activity.pause()

  /** Whether the tool wrote to standard error. */
  get hasErrors (): boolean {
    return this.#lastError !== ''
  }

  end (): void {
    for (const stop of this.#stops) stop()
    this.#activity.end()
    if (this.hasErrors && this.#lastError !== '\n') this.#terminal.err('\n')
  }

  /** Prints the rest of the output, and ends its last line. */
  finish (output: string): void {
    this.#print(output.slice(this.#printed))
    if (this.#printed > 0 && !output.endsWith('\n')) this.#terminal.out('\n')
  }

  #print (text: string): void {
    this.#printed += text.length
    this.#activity.wrote(text)
    this.#terminal.out(this.#terminal.shown ? steady(text) : text)
  }

  #printError (text: string): void {
    this.#lastError = text.slice(-1)
    this.#activity.wrote(text)
    this.#terminal.err(this.#terminal.watched ? steady(text) : text)
  }
}

/** The output of a tool before it failed. */
async function outputSoFar (
  gateway: Gateway,
  { details: { execution_id } }: SkilletError,
  call: Call
): Promise<string> {
  if (typeof execution_id !== 'string') return ''
  return await gateway.invoke(getExecution, { id: execution_id }, call).then(({ output }) => output, () => '')
}
