/** Comparing two texts line by line (Myers, An O(ND) Difference Algorithm, 1986). */

/** A run of lines that both have, or that one of them lacks. */
type Edit = { kind: ' ' | '-' | '+', line: string }

/** More differences than this are not looked for one by one: what lies between is given as removed and added whole. */
const differencesMax = 2_000

/** A unified diff without file times; empty when the texts are equal. */
export function unifiedDiff (before: string, after: string, context: number, names: { before: string, after: string }): string {
  const edits = editsOf(lines(before), lines(after))
  const hunks = hunksOf(edits, context)
  if (hunks.length === 0) return ''
  return [`--- ${names.before}`, `+++ ${names.after}`, ...hunks].join('\n') + '\n'
}

/** Lines of a text; a last one without its line break is told from one with. */
function lines (text: string): string[] {
  const lines = text.split('\n')
  const last = lines.pop()
  if (last !== undefined && last !== '') lines.push(`${last}\n\\ No newline at end of file`)
  return lines
}

function editsOf (a: readonly string[], b: readonly string[]): Edit[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const same = (line: string): Edit => ({ kind: ' ', line })
  const from = a.slice(start, a.length - end)
  const to = b.slice(start, b.length - end)
  return [...a.slice(0, start).map(same), ...(shortest(from, to) ?? replaced(from, to)), ...a.slice(a.length - end).map(same)]
}

function replaced (a: readonly string[], b: readonly string[]): Edit[] {
  return [...a.map(line => ({ kind: '-' as const, line })), ...b.map(line => ({ kind: '+' as const, line }))]
}

/** The shortest script of edits, unless it is longer than is looked for. */
function shortest (a: readonly string[], b: readonly string[]): Edit[] | undefined {
  const most = Math.min(a.length + b.length, differencesMax)
  // furthest[k + most + 1]: how far into `a` the best path on diagonal k (position in a minus position in b) comes.
  const furthest = new Int32Array(2 * most + 3)
  const trace: Int32Array[] = []
  for (let d = 0; d <= most; d++) {
    trace.push(furthest.slice(most + 1 - d, most + 2 + d))
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (furthest[k + most] ?? 0) < (furthest[k + most + 2] ?? 0))
      let x = down ? furthest[k + most + 2] ?? 0 : (furthest[k + most] ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest[k + most + 1] = x
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace)
    }
  }
  return undefined
}

/** The path that ended, from its end to its beginning. `trace[d]` holds the diagonals -d to d as they were before step d. */
function walkBack (a: readonly string[], b: readonly string[], trace: readonly Int32Array[]): Edit[] {
  const edits: Edit[] = []
  let x = a.length
  let y = b.length
  for (let d = trace.length - 1; d >= 0; d--) {
    const at = (k: number): number => trace[d]?.[k + d] ?? -1
    const k = x - y
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1))
    // Where the lines that both have begin: at the start, or behind the one that step d removed or added.
    const beforeX = at(down ? k + 1 : k - 1)
    const sameX = d === 0 ? 0 : beforeX + (down ? 0 : 1)
    for (; x > sameX; y--) edits.push({ kind: ' ', line: a[--x] ?? '' })
    if (d === 0) break
    if (down) edits.push({ kind: '+', line: b[--y] ?? '' })
    else edits.push({ kind: '-', line: a[--x] ?? '' })
  }
  return edits.toReversed()
}

function hunksOf (edits: readonly Edit[], context: number): string[] {
  const hunks: string[] = []
  let atA = 0
  let atB = 0
  let next = 0
  while (next < edits.length) {
    const first = edits.findIndex((edit, i) => i >= next && edit.kind !== ' ')
    if (first < 0) break
    let last = first
    for (let i = first + 1; i < edits.length && i <= last + 2 * context + 1; i++) if (edits[i]?.kind !== ' ') last = i
    const from = Math.max(next, first - context)
    const to = Math.min(edits.length, last + context + 1)
    atA += from - next // between hunks, both have the same lines
    atB += from - next
    const hunk = edits.slice(from, to)
    const inA = hunk.filter(edit => edit.kind !== '+').length
    const inB = hunk.filter(edit => edit.kind !== '-').length
    hunks.push(`@@ -${range(atA, inA)} +${range(atB, inB)} @@`, ...hunk.map(({ kind, line }) => kind + line))
    atA += inA
    atB += inB
    next = to
  }
  return hunks
}

/** Where a hunk begins, counted from 1, and its length where that is not 1. An empty one names the line before it. */
function range (start: number, length: number): string {
  return length === 1 ? String(start + 1) : `${length === 0 ? start : start + 1},${length}`
}
