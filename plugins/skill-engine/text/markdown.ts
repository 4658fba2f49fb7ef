/** A line of Markdown outside comments. A code block is one line of the kind `code`, without its text. */
export interface Line { kind: 'text' | 'code' | 'heading', text: string, level: number }

/** The lines of a text, without HTML comments, and with each code block as one line. Takes linear time. */
export function linesOf (text: string): Line[] {
  const lines: Line[] = []
  let fence: string | undefined
  let inComment = false
  for (const raw of text.split(/\r\n|\n|\r/)) {
    if (fence !== undefined) {
      if (raw.trim().startsWith(fence) && raw.trim().replaceAll(fence[0] ?? '', '') === '') fence = undefined
      continue
    }
    const opening = inComment ? undefined : /^ {0,3}(```+|~~~+)/.exec(raw)?.[1]
    if (opening !== undefined) {
      fence = opening
      lines.push({ kind: 'code', text: '', level: 0 })
      continue
    }
    const outside = withoutComments(raw, inComment)
    inComment = outside.inComment
    lines.push(lineOf(outside.text))
  }
  return lines
}

function lineOf (text: string): Line {
  const [, signs, title = ''] = /^(#{1,6})[ \t]+(.*)$/.exec(text) ?? []
  if (signs === undefined) return { kind: 'text', text, level: 0 }
  return { kind: 'heading', text: title.trim(), level: signs.length }
}

/** What stands outside comments in a line. */
function withoutComments (line: string, inComment: boolean): { text: string, inComment: boolean } {
  let text = ''
  let at = 0
  let inside = inComment
  while (at < line.length) {
    const end = line.indexOf(inside ? '-->' : '<!--', at)
    if (!inside) text += line.slice(at, end === -1 ? undefined : end)
    if (end === -1) break
    at = end + (inside ? 3 : 4)
    inside = !inside
  }
  return { text, inComment: inside }
}

/** Whether a line begins with a bold label, such as `**Parameters:**` or `**Usage**:`. */
export function isLabel (text: string): boolean {
  return /^\s*\*\*[^*]{1,100}(?::\*\*|\*\*\s{0,10}:)/.test(text)
}

export function isTableRow (text: string): boolean {
  return /^\s*\|/.test(text)
}

export function isBullet (text: string): boolean {
  return /^\s*[-*]\s/.test(text)
}

/** A heading without backticks around it. */
export function bareHeading (text: string): string {
  return /^`([^`]+)`$/.exec(text)?.[1] ?? text
}
