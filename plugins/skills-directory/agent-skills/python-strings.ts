/** The value of a number literal. */
export function numberOf (text: string): number | undefined {
  const number = Number(text.replaceAll('_', ''))
  return Number.isFinite(number) ? number : undefined
}

/** The value of a string literal; undefined for bytes. */
export function decode (text: string): string | undefined {
  const [whole, prefix = '', quote = ''] = /^([A-Za-z]*)("""|'''|"|')/.exec(text) ?? []
  if (whole === undefined || /b/i.test(prefix)) return undefined
  const inner = text.slice(whole.length, text.endsWith(quote) ? text.length - quote.length : undefined)
  return /r/i.test(prefix) ? inner : unescape(inner)
}

const escapes: Readonly<Record<string, string>> = {
  'n': '\n',
  't': '\t',
  'r': '\r',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': ''
}

/** A text with its escape sequences replaced. */
export function unescape (text: string): string {
  return text.replaceAll(
    /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g,
    (whole: string, u?: string, x?: string, char?: string) => {
      const code = u ?? x
      return code === undefined ? (escapes[char ?? ''] ?? whole) : String.fromCharCode(parseInt(code, 16))
    }
  )
}

/** A docstring without the indentation that all of its lines have. */
export function dedent (text: string): string {
  const [first = '', ...lines] = text.split(/\r?\n/)
  const indents = lines.filter(line => line.trim() !== '').map(line => /^\s*/.exec(line)?.[0].length ?? 0)
  const least = indents.length === 0 ? 0 : indents.reduce((a, b) => Math.min(a, b))
  return [first.trim(), ...lines.map(line => line.slice(least).trimEnd())].join('\n').trim()
}
