/** A piece of a line: its text, and what colours it. */
export interface Cell { text: string, style?: (text: string) => string }

/**
 * Text without what would steer a terminal: names, descriptions and messages come from others. Line ends and other
 * control characters become spaces.
 */
export function plain (text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/**
 * Lines whose cells stand below each other, two spaces apart. A cell wider than `widthMax` pushes the rest of its line.
 * @param columns where the lines are cut, with an ellipsis; nowhere when undefined
 */
export function align (rows: readonly (readonly (Cell | string)[])[], { columns, indent = '', widthMax = 48 }: { columns?: number | undefined, indent?: string, widthMax?: number } = {}): string {
  const cells = rows.map(row => row.map(cell => typeof cell === 'string' ? { text: plain(cell) } : { ...cell, text: plain(cell.text) }))
  const widths: number[] = []
  for (const row of cells) {
    for (const [i, { text }] of row.slice(0, -1).entries()) {
      if (text.length <= widthMax) widths[i] = Math.max(widths[i] ?? 0, text.length)
    }
  }
  return cells.map(row => {
    let at = indent.length
    let line = indent
    for (const [i, { text, style }] of row.entries()) {
      const shown = cut(text, columns === undefined ? undefined : columns - at)
      const gap = i === row.length - 1 ? '' : ' '.repeat(Math.max(0, (widths[i] ?? 0) - text.length) + 2)
      line += (style?.(shown) ?? shown) + gap
      at += text.length + gap.length
    }
    return `${line.trimEnd()}\n`
  }).join('')
}

function cut (text: string, room: number | undefined): string {
  if (room === undefined || text.length <= room) return text
  return room < 2 ? '' : `${text.slice(0, room - 1)}…`
}

/** A duration for people: `12 ms`, `1.2 s`, `3 min 20 s`. */
export function duration (ms: number): string {
  if (ms < 1000) return `${ms} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** A time for people, in the local zone: `2026-01-02 03:04:05`. */
export function localTime (iso: string): string {
  const date = new Date(iso)
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}
