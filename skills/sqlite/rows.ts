import type { StatementSyncInstance } from '@photostructure/sqlite'

/** What is said where rows were left out. */
function cutNote (rows: number): string {
  return `(cut after ${rows} rows; use LIMIT and OFFSET, or fewer columns)`
}

/** Rows as a JSON list of objects, one a line; nothing where there are none. */
export function rowsOf (
  statement: StatementSyncInstance,
  values: readonly (string | number)[],
  charactersMax: number
): string {
  const names = namesOf(statement.columns().map(({ name }) => name)).map(name => JSON.stringify(name))
  const lines: string[] = []
  let length = 0
  let cut = false
  for (const row of valuesOf(statement, values)) {
    const line = `{${row.map((value, i) => `${names[i] ?? '""'}:${jsonOf(value)}`).join(',')}}`
    if ((length += line.length + 2) > charactersMax) {
      cut = true
      break
    }
    lines.push(line)
  }
  const rows = lines.length === 0 ? '' : `[${lines.join(',\n')}]\n`
  return cut ? `${rows}${cutNote(lines.length)}\n` : rows
}

/** The first column of each row, one a line. */
export function linesOf (
  statement: StatementSyncInstance,
  values: readonly (string | number)[],
  charactersMax: number
): string {
  let text = ''
  let rows = 0
  for (const [value] of valuesOf(statement, values)) {
    const line = `${String(value)}\n`
    if (text.length + line.length > charactersMax) return `${text}${cutNote(rows)}\n`
    text += line
    rows++
  }
  return text
}

function * valuesOf (
  statement: StatementSyncInstance,
  values: readonly (string | number)[]
): Generator<readonly unknown[]> {
  statement.setReturnArrays(true)
  statement.setReadBigInts(true) // tells integers from reals, and keeps all their digits
  for (const row of statement.iterate(...values)) yield Array.isArray(row) ? row : []
}

/** Names of columns, each of its own: the second `id` is `id:1`, as SQLite calls it in a view. */
function namesOf (columns: readonly string[]): string[] {
  const seen = new Set<string>()
  return columns.map(column => {
    let name = column
    for (let i = 1; seen.has(name); i++) name = `${column}:${i}`
    seen.add(name)
    return name
  })
}

/** A value as JSON: integers with all digits, reals with a point, bytes as SQL writes them. */
function jsonOf (value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') {
    return Number.isInteger(value) && Math.abs(value) < 1e21
      ? value.toFixed(1)
      : Number.isFinite(value) ? String(value) : value > 0 ? '9.0e+999' : '-9.0e+999'
  }
  if (value instanceof Uint8Array) return `"X'${Buffer.from(value).toString('hex')}'"`
  return JSON.stringify(value)
}
