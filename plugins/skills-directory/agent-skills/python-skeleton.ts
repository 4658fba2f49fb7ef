/** Words that make the body of a function or class worth parsing: they are about arguments, imports or usage. */
const words = [
  'argv', 'argparse', 'ArgumentParser', 'OptionParser', 'add_\\w+', 'parse_\\w*args', 'import\\s', 'click\\.',
  'typer\\.', 'fire\\.', 'getopt', 'docopt', 'usage\\s*:'
]
const telling = new RegExp(`\\b(?:${words.join('|')})`, 'i')
const block = /^(?:async\s+def|def|class)\s/

/**
 * A Python script without those bodies of functions and classes that have no such word. Parsing takes nearly all of the
 * time of reading a script, and most of a script consists of such bodies.
 */
export function skeletonOf (text: string): string {
  const kept: string[] = []
  const lines = text.split('\n')
  const quotes = new Quotes()
  let decorated = false
  for (let i = 0; i < lines.length;) {
    const line = lines[i] ?? ''
    if (quotes.open || !block.test(line)) {
      quotes.pass(line)
      decorated = line.startsWith('@') || (decorated && /^[\s)]/.test(line))
      kept.push(line)
      i++
      continue
    }
    const from = i
    const head = headEndOf(lines, from)
    for (i = Math.min(head + 1, lines.length); i < lines.length; i++) {
      const line = lines[i] ?? ''
      if (!quotes.open && /^[^\s#]/.test(line)) break
      quotes.pass(line)
    }
    const whole = lines.slice(from, i)
    const body = whole.slice(head - from + 1)
    if (decorated || body.length === 0 || telling.test(body.join('\n'))) kept.push(...whole)
    else kept.push(...whole.slice(0, head - from + 1), '    pass')
    decorated = false
  }
  return kept.join('\n')
}

/** The index of the last line of a definition's head: the line with the colon after its parentheses. */
function headEndOf (lines: readonly string[], from: number): number {
  let depth = 0
  for (let i = from; i < lines.length; i++) {
    const line = lines[i] ?? ''
    for (const [bracket] of line.matchAll(/[()[\]{}]/g)) depth += '([{'.includes(bracket) ? 1 : -1
    if (depth <= 0 && line.includes(':')) return i
  }
  return lines.length - 1
}

/** Tracks whether a line is within a string of several lines, `"""` or `'''`. */
class Quotes {
  #open: string | undefined

  get open (): boolean {
    return this.#open !== undefined
  }

  pass (line: string): void {
    for (const [mark] of line.matchAll(/"""|'''/g)) {
      if (this.#open === undefined) this.#open = mark
      else if (this.#open === mark) this.#open = undefined
    }
  }
}
