import { stripVTControlCharacters } from 'node:util'
import { displayWidth, longestWord, wrap } from './wrap.ts'

/** A piece of a line: its text, and a function that colours it. */
export interface Cell { text: string, style?: (text: string) => string }

/**
 * Removes control sequences of terminals from a text, since names, descriptions and messages come from other people.
 * Line ends and other control characters become spaces.
 */
export function plain (text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/** The width of the terminal in columns; if it is undefined, lines are not broken. */
interface Page { columns?: number | undefined }

/** The indentation of the further lines of a broken line. */
const hang = 2
/** The minimum of columns beside other cells in which sentences are readable. */
const readable = 24

/**
 * Lines whose cells form columns, two spaces apart. A cell wider than `widthMax` pushes the rest of its line to the
 * right. In a terminal, a cell is broken between words and continues below itself; where too little room is left beside
 * the other cells, it begins on the next line.
 */
export function align (
  rows: readonly (readonly (Cell | string)[])[],
  { columns, indent = '', widthMax = 48 }: Page & { indent?: string, widthMax?: number } = {}
): string {
  const table = rows.map(row => row.map(toCell))
  const widths: number[] = []
  const widest: number[] = []
  for (const row of table) {
    for (const [i, { text }] of row.entries()) {
      const width = displayWidth(text)
      widest[i] = Math.max(widest[i] ?? 0, width)
      if (i < row.length - 1 && width <= widthMax) widths[i] = Math.max(widths[i] ?? 0, width)
    }
  }
  return table.map(row => {
    const lines = new Lines(columns, indent.length)
    for (const [i, cell] of row.entries()) {
      const isLast = i === row.length - 1
      lines.addCell(cell, isLast ? Math.min(readable, widest[i] ?? 0) : displayWidth(cell.text))
      if (!isLast) lines.addGap(Math.max(0, (widths[i] ?? 0) - displayWidth(cell.text)) + 2)
    }
    return lines.text()
  }).join('')
}

/** Pieces of text one after the other, broken between words at the terminal's width; further lines are indented. */
export function paragraph (pieces: readonly (Cell | string)[], { columns }: Page = {}): string {
  const lines = new Lines(columns)
  for (const piece of pieces) lines.add(toCell(piece), lines.below)
  return lines.text()
}

function toCell (cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: plain(cell) } : { ...cell, text: plain(cell.text) }
}

/** The lines of a page while they are filled. */
class Lines {
  readonly #columns: number
  readonly #done: string[] = []
  #line: string
  /** The column of the next character. */
  #at: number
  /** The indentation of the lines after the first. It is small in a narrow terminal. */
  readonly below: number

  constructor (columns = Infinity, indent = 0) {
    this.#columns = columns
    const most = Math.floor(columns / 4)
    this.#at = Math.min(indent, most)
    this.#line = ' '.repeat(this.#at)
    this.below = Math.min(indent + hang, most)
  }

  /**
   * Adds a cell: beside the other cells if there are `need` columns and room for its longest word, otherwise on the
   * next line.
   */
  addCell (cell: Cell, need: number): void {
    const left = this.#columns - this.#at
    if (
      left < displayWidth(cell.text)
      && left < Math.min(this.#columns - this.below, Math.max(need, longestWord(cell.text)))
    ) {
      this.#breakLine(this.below)
    }
    this.add(cell, this.#at)
  }

  /** Adds a text, which continues at the column `from` of the next lines. */
  add ({ text, style = same => same }: Cell, from: number): void {
    for (const [i, line] of wrap(text, this.#columns - this.#at, Math.max(1, this.#columns - from)).entries()) {
      if (i > 0) this.#breakLine(from)
      this.#line += line === '' ? '' : style(line)
      this.#at += displayWidth(line)
    }
  }

  addGap (width: number): void {
    this.#line += ' '.repeat(width)
    this.#at += width
  }

  text (): string {
    return [...this.#done, this.#line.trimEnd()].map(line => `${line}\n`).join('')
  }

  /** Goes to the next line, unless this one is still empty. */
  #breakLine (at: number): void {
    if (this.#line.trim() !== '') this.#done.push(this.#line.trimEnd())
    this.#line = ' '.repeat(at)
    this.#at = at
  }
}

/** Characters that control a terminal or change the direction of its text, except line ends and tabs. */
const steering = /(?![\n\t])[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * Removes control sequences of terminals from a text of several lines, since output, messages and log lines come from
 * other programs. Sequences (colours, titles, links, the clipboard) are removed whole, and so are the remaining control
 * characters.
 */
export function steady (text: string): string {
  return stripVTControlCharacters(text).replaceAll(steering, '')
}

/** The colours that commands use themselves. */
const ownStyles = new RegExp(`(${String.fromCharCode(27)}\\[(?:0|1|2|22|3[0-79]|90)m)`)

/** The same for the output of commands, which put colours around text from other programs. */
export function steadyButStyled (text: string): string {
  return text.split(ownStyles).map((piece, i) => i % 2 === 1 ? piece : steady(piece)).join('')
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
