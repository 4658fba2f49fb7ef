import type { Outcome } from '../../../kernel/index.ts'
import { commandMark } from '../run/split-command.ts'

/**
 * The argument vector in an output of the adapter, or the failure where it may not run. The program is checked here,
 * in the main thread: what runs in the script thread could write anything.
 * @param programs the names that it may begin with
 */
export function readVector (
  { output, output_truncated }: Outcome, programs: readonly string[]
): string[] | Outcome {
  const fail = (message: string): Outcome =>
    ({ status: 'failed', output: '', output_truncated: false, error: { message, details: {} } })
  if (output_truncated) return fail('the command of the tool is longer than execution.output_bytes_max allows')
  const vector = parse(output.slice(commandMark.length))
  const [program] = vector ?? []
  if (vector === undefined || program === undefined) return fail('the tool answered with a command that has no words')
  if (!programs.includes(program)) {
    return fail(`the tool wants to run ${JSON.stringify(program.slice(0, 100))}, which is not one of ${programs.join(', ')}; plugin.skill-engine.programs allows more`)
  }
  if (vector.some(word => word.includes('\0'))) return fail('an argument of the command holds a NUL character')
  return vector
}

function parse (text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value)) return undefined
    const words = value.filter(word => typeof word === 'string')
    return words.length === value.length ? words : undefined
  } catch {
    return undefined
  }
}
