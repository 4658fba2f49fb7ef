import { StringDecoder } from 'node:string_decoder'
import { runCommand, type Program } from './program.ts'
import { RunState, type RunInput } from './run-state.ts'
import { RuntimeError } from './web-assembly.ts'

/** What the executor puts into the configuration of a run. */
export interface WasmRun extends RunInput { memory_bytes_max: number }

/** How a run ended. The output of the program follows it. */
export type RunEnd = {
  stderr: string
  /** What the program put out, returned or not, in bytes of UTF-8. */
  stdout_bytes: number
} & ({ exit_code: number } | { fault: string })

/** The most of standard error that is returned, in characters. */
const stderrMax = 4_096

/**
 * Presents commands in WebAssembly as the tools of a script skill. What a tool returns is its end, as a line of JSON,
 * and then what the command put out. Both together are at most `output_bytes_max` bytes, which is all that is kept of
 * what a script returns.
 * @param programs the command of each tool, by the name of the tool
 */
export function commands (programs: Readonly<Record<string, { name: string, program: Program }>>) {
  const toolOf = ({ name, program }: { name: string, program: Program }) => ({
    run (_parameters: unknown, { config }: { config: unknown }): string {
      const { memory_bytes_max, ...input } = (config as { wasm: WasmRun }).wasm // the executor of this runtime made it
      const state = new RunState(name, input)
      return told(ended(() => runCommand(program, state, memory_bytes_max)), state)
    }
  })
  return { tools: Object.fromEntries(Object.entries(programs).map(([tool, made]) => [tool, toolOf(made)])) }
}

function ended (run: () => number): { exit_code: number } | { fault: string } {
  try {
    return { exit_code: run() }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const trapped = error instanceof RuntimeError || error instanceof RangeError
    return { fault: (trapped ? `trapped: ${message}` : message).slice(0, 200) }
  }
}

function told (how: { exit_code: number } | { fault: string }, state: RunState): string {
  const { output, errors, stdout_bytes, input: { output_bytes_max } } = state
  // What is cut off may end within a character: the decoder leaves that out.
  const text = output.length === stdout_bytes ? output.toString('utf8') : new StringDecoder('utf8').write(output)
  const bytes = output.length === stdout_bytes ? Buffer.byteLength(text) : stdout_bytes
  let line = ''
  for (let length = stderrMax; ; length = Math.floor(length / 2)) {
    const stderr = length === 0 ? '' : errors.slice(-length).toWellFormed()
    line = `${JSON.stringify({ ...how, stderr, stdout_bytes: bytes } satisfies RunEnd)}\n`
    if (length === 0 || Buffer.byteLength(line) <= output_bytes_max / 2) break
  }
  const room = output_bytes_max - Buffer.byteLength(line)
  if (Buffer.byteLength(text) <= room) return line + text
  return line + new StringDecoder('utf8').write(Buffer.from(text).subarray(0, Math.max(0, room)))
}
