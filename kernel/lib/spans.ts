/** Spans of a text, in UTF-16 code units: from, to, from, to, and so on. Sorted, without overlaps. */
export type Spans = readonly number[]

/** Collects spans in the order of their ends. Overlapping spans become one; adjacent spans stay separate. */
export class SpanList {
  readonly spans: number[] = []

  add (from: number, to: number): void {
    const { spans } = this
    let start = from
    let end = to
    for (let last = spans.length - 1; last > 0 && (spans[last] ?? 0) > start; last -= 2) {
      end = Math.max(end, spans.pop() ?? 0)
      start = Math.min(start, spans.pop() ?? 0)
    }
    spans.push(start, end)
  }
}

/** The union of two lists of spans. Overlapping spans become one. */
export function joinSpans (a: Spans, b: Spans): Spans {
  if (a.length === 0 || b.length === 0) return a.length === 0 ? b : a
  const joined = new SpanList()
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const fromA = i < a.length && (j >= b.length || (a[i + 1] ?? 0) <= (b[j + 1] ?? 0))
    if (fromA) joined.add(a[i++] ?? 0, a[i++] ?? 0)
    else joined.add(b[j++] ?? 0, b[j++] ?? 0)
  }
  return joined.spans
}
