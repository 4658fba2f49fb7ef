import { commandMark, splitCommand } from './split-command.ts'

/** Parameters whose value is a part of a command: several words. */
const isWords = (name: string): boolean => name === 'args' || name === 'command' || name === 'cmd'

type Ask = (parameters: Record<string, unknown>) => Promise<string | undefined>

/**
 * The argument vector of a command that a skill wrote for these parameters. Skills paste values into the text as they
 * are, so that a value could add arguments. So the skill is asked once more, with a fresh word in the place of each
 * value that holds a space or a quote: where that gives the same text, each value stays one word.
 * @param text what the skill wrote, behind the mark
 * @param ask what the skill answers to other parameters; undefined where it fails
 * @throws Error when the text can't be split
 */
export async function safeCommand (
  text: string, parameters: Readonly<Record<string, unknown>>, ask: Ask
): Promise<string[]> {
  const marked = markValues(text, parameters)
  if (marked.values.size === 0) return splitCommand(text)
  const second = await ask(marked.parameters)
  if (second?.startsWith(commandMark) === true) {
    const pattern = second.slice(commandMark.length)
    if (fill(pattern, marked.values) === text) return words(pattern, marked.values)
  }
  return splitCommand(text)
}

interface Value { name: string, text: string }

/** The parameters with words in the place of values, and the values by their words. */
function markValues (
  text: string, parameters: Readonly<Record<string, unknown>>
): { parameters: Record<string, unknown>, values: Map<string, Value> } {
  const values = new Map<string, Value>()
  const all = `${text}\n${JSON.stringify(parameters)}`
  let number = 0
  const fresh = (): string => {
    for (;;) {
      const word = `zq${++number}qz`
      if (!all.includes(word)) return word
    }
  }
  const marked = Object.entries(parameters).map(([name, value]) => {
    if (typeof value !== 'string' || !/[\s"']/.test(value)) return [name, value]
    const word = fresh()
    values.set(word, { name, text: value })
    return [name, word]
  })
  return { parameters: Object.fromEntries(marked), values }
}

function fill (text: string, values: ReadonlyMap<string, Value>): string {
  return text.replace(/zq\d+qz/g, word => values.get(word)?.text ?? word)
}

/** The words of a text, with the values in them. */
function words (pattern: string, values: ReadonlyMap<string, Value>): string[] {
  return splitCommand(pattern).flatMap(word => {
    const whole = values.get(word)
    return whole !== undefined && isWords(whole.name) ? splitCommand(whole.text) : [fill(word, values)]
  })
}
