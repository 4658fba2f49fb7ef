import type { StructuredPatchHunk } from 'diff'

/** More differences than this are not looked for one by one: what lies between is given as removed and added whole. */
const differencesMax = 2_000

/** A unified diff without file times; empty when the texts are equal. */
export async function unifiedDiff (
  before: string, after: string, context: number, names: { before: string, after: string }
): Promise<string> {
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch('', '', before, after, undefined, undefined, { context, maxEditLength: differencesMax })
  const hunks = patch?.hunks ?? [replaced(linesOf(before), linesOf(after), context)]
  if (hunks.length === 0) return ''
  // Not by the library's formatPatch: it would quote names, and write lengths of 1.
  const shown = hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`, ...lines])
  return [`--- ${names.before}`, `+++ ${names.after}`, ...shown].join('\n') + '\n'
}

/** One hunk in which all between the lines that both begin and end with is removed and added. */
function replaced (a: readonly string[], b: readonly string[], context: number): StructuredPatchHunk {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const from = Math.max(0, start - context)
  const behind = Math.min(end, context)
  const marked = (mark: string, lines: readonly string[]): string[] => lines.map(line => mark + line)
  return {
    oldStart: from + 1,
    oldLines: a.length - end + behind - from,
    newStart: from + 1,
    newLines: b.length - end + behind - from,
    lines: [
      ...marked(' ', a.slice(from, start)), ...marked('-', a.slice(start, a.length - end)),
      ...marked('+', b.slice(start, b.length - end)),
      ...marked(' ', a.slice(a.length - end, a.length - end + behind))
    ]
  }
}

/** Lines of a text; a last one without its line break is told from one with. */
function linesOf (text: string): string[] {
  const lines = text.split('\n')
  const last = lines.pop()
  if (last !== undefined && last !== '') lines.push(`${last}\n\\ No newline at end of file`)
  return lines
}

/** Where a hunk begins, counted from 1, and its length where that is not 1. An empty one names the line before it. */
function range (start: number, length: number): string {
  return length === 1 ? String(start) : `${length === 0 ? start - 1 : start},${length}`
}
