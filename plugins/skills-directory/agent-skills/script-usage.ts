/** The longest usage that is kept, in characters. */
const usageMax = 1_000

/**
 * The usage that a text tells: what follows `Usage:`, to the next empty line.
 * @returns its lines, without what they are indented by
 */
export function usageIn (text: string): string | undefined {
  const [, afterUsage = ''] = /(?:^|[^\w])usage\s*:[ \t]*([\s\S]*)/i.exec(text) ?? []
  const [paragraph = ''] = afterUsage.replace(/^\s*\n/, '').split(/\n\s*\n/)
  const lines = paragraph
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('```'))
  // Lines of a comment among them, such as `# Several at once`, say what the next one is for.
  const usage = lines.join('\n').trim()
  return usage === '' || !/[<[{$.\w]/.test(usage) ? undefined : usage.slice(0, usageMax)
}

/** The first line of a usage that is a call, as what follows the script's name. */
export function operandsOf (usage: string): string {
  const line = usage.split('\n').find(line => !line.startsWith('#')) ?? ''
  const called = line.replace(/^\S*(?:python[\d.]*|node|bash|sh|ruby|perl)\s+(?:-m\s+)?/, '')
  const [, operands = ''] = /^(?:\$\([^)]*\)|\S+)\s+(.*)$/.exec(called) ?? []
  return operands
}

/**
 * What a usage of nothing but operands asks for: `<in.pdf> [out dir]` → `in_pdf`, `out_dir`. Empty where there is
 * anything else.
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

/** Whether a usage asks for something that may not be left out. */
export function asksForOperands (usage: string): boolean {
  const operands = operandsOf(usage)
    .replaceAll(/\[[^[\]]*\]/g, '')
    .replaceAll(/\[[^[\]]*\]/g, '') // one within another
  return /<[^<>]+>|\b[A-Z][A-Z_]{2,}\b|\{[^{}]+\}/.test(operands)
}
