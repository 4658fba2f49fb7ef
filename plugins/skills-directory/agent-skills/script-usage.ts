/** The length at which a usage is cut off, in characters. */
const usageMax = 1_000

/**
 * The usage in a text: the lines from `Usage:` to the next empty line.
 * @returns the lines without indentation; undefined when the text has no usage
 */
export function usageIn (text: string): string | undefined {
  const [, afterUsage = ''] = /(?:^|[^\w])usage\s*:[ \t]*([\s\S]*)/i.exec(text) ?? []
  const [paragraph = ''] = afterUsage.replace(/^\s*\n/, '').split(/\n\s*\n/)
  const lines = paragraph
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('```'))
  // Comments, such as `# Several at once`, are kept: they explain the next line.
  const usage = lines.join('\n').trim()
  return usage === '' || !/[<[{$.\w]/.test(usage) ? undefined : usage.slice(0, usageMax)
}

/** The operands of the first line that is a call: the text after the script's name. */
export function operandsOf (usage: string): string {
  const line = usage.split('\n').find(line => !line.startsWith('#')) ?? ''
  const called = line.replace(/^\S*(?:python[\d.]*|node|bash|sh|ruby|perl)\s+(?:-m\s+)?/, '')
  const [, operands = ''] = /^(?:\$\([^)]*\)|\S+)\s+(.*)$/.exec(called) ?? []
  return operands
}

/**
 * The placeholders of a usage that consists only of operands: `<in.pdf> [out dir]` → `in_pdf`, `out_dir`. Empty for any
 * other usage.
 */
export function placeholdersOf (usage: string): { name: string, text: string }[] {
  const words = operandsOf(usage).match(/<[^<>]+>|\[[^[\]]+\]|\{[^{}]+\}|\S+/g) ?? []
  const texts = words.map(word =>
    word
      .replace(/^[<[{]+|[>\]}]+$/g, '')
      .replace(/\.\.\.$/, '')
      .trim()
  )
  if (texts.some(text => !/^[A-Za-z]/.test(text))) return []
  return texts.map(text => ({
    name: text
      .replace(/[^A-Za-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .toLowerCase(),
    text
  }))
}

/** Whether a usage has a required operand. */
export function asksForOperands (usage: string): boolean {
  const operands = operandsOf(usage)
    .replaceAll(/\[[^[\]]*\]/g, '')
    .replaceAll(/\[[^[\]]*\]/g, '') // again, for nested brackets
  return /<[^<>]+>|\b[A-Z][A-Z_]{2,}\b|\{[^{}]+\}/.test(operands)
}
