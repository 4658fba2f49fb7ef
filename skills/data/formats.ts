/** Texts of the formats and plain JSON values, both ways. Libraries are loaded when they are needed. */

export const formats = ['json', 'yaml', 'toml', 'csv', 'xml'] as const
export type Format = typeof formats[number]

/** How deep values may be nested, and how many there may be once aliases are followed. */
const depthMax = 100
const valuesMax = 1_000_000

export interface CsvOptions { delimiter: string, header: boolean, infer_types: boolean }

/** A text as a plain JSON value. @throws Error saying what is wrong and where */
export async function read (
  text: string,
  format: Format,
  csv: CsvOptions = { delimiter: ',', header: true, infer_types: false }
): Promise<unknown> {
  let value: unknown
  try {
    value = await readers[format](text.replace(/^\uFEFF/, ''), csv)
  } catch (error) {
    throw new Error(`the text is not valid ${format.toUpperCase()}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  return plain(value)
}

/** A plain JSON value as a text. @throws Error where the format has no way to say it */
export async function write (value: unknown, format: Format, indent: number, csv: CsvOptions): Promise<string> {
  return await writers[format](value, indent, csv)
}

const readers: Record<Format, (text: string, csv: CsvOptions) => unknown> = {
  json (text) {
    const value: unknown = JSON.parse(text)
    // JSON.parse rounds such numbers in silence.
    for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g)) {
      if (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))) {
        throw new Error(`the number ${token.slice(0, 50)} can't be kept exactly; write it as a string`)
      }
    }
    return value
  },
  async yaml (text) {
    const { parseDocument } = await import('yaml')
    const document = parseDocument(text, { intAsBigInt: true, prettyErrors: true, logLevel: 'error', stringKeys: true })
    const [wrong] = document.errors
    if (wrong !== undefined) throw new Error(wrong.message.split('\n', 1)[0])
    return document.toJS({ maxAliasCount: 100 })
  },
  async toml (text) {
    const { parse, TomlError } = await import('smol-toml')
    try {
      return parse(text)
    } catch (error) {
      if (!(error instanceof TomlError)) throw error
      throw new Error(`${error.message.replace(/^Invalid TOML document: /, '').split('\n', 1)[0]} (line ${error.line}, column ${error.column})`, { cause: error })
    }
  },
  async csv (text, { delimiter, header, infer_types }) {
    const { parse } = await import('csv-parse/sync')
    const rows = parse(text, {
      delimiter, skip_empty_lines: true, relax_column_count: false, ...(infer_types && { cast: infer })
    }) as unknown[][]
    const [names, ...records] = rows
    if (!header || names === undefined) return rows
    const keys = names.map(String)
    const double = keys.find((key, i) => keys.indexOf(key) !== i)
    if (double !== undefined) throw new Error(`the header names the column "${double}" twice`)
    return records.map(record => Object.fromEntries(keys.map((key, i) => [key, record[i] ?? ''])))
  },
  async xml (text) {
    const { XMLParser, XMLValidator } = await import('fast-xml-parser')
    const valid = XMLValidator.validate(text)
    if (valid !== true) throw new Error(`${valid.err.msg} (line ${valid.err.line})`)
    // Values stay strings: XML has no other.
    const value = new XMLParser({
      ...xml, parseTagValue: false, parseAttributeValue: false, ignoreDeclaration: true, ignorePiTags: true,
      maxNestedTags: depthMax
    }).parse(text) as object
    if (Object.keys(value).length === 0) throw new Error('it has no element')
    return value
  }
}

const writers: Record<Format, (value: unknown, indent: number, csv: CsvOptions) => Promise<string>> = {
  json: async (value, indent) => JSON.stringify(value, null, indent),
  async yaml (value, indent) {
    const { stringify } = await import('yaml')
    return stringify(value, { indent: Math.max(1, indent), lineWidth: 0, aliasDuplicateObjects: false })
  },
  async toml (value) {
    if (!isRecord(value)) throw new Error('TOML holds an object at its top; this is another kind of value')
    refuse(value, item => item === null, 'TOML has no null')
    const { stringify } = await import('smol-toml')
    return stringify(value)
  },
  async csv (value, _indent, { delimiter, header }) {
    if (!Array.isArray(value)) throw new Error('CSV holds a list; this is another kind of value')
    const { stringify } = await import('csv-stringify/sync')
    const cell = (item: unknown): string =>
      item === undefined || item === null ? '' : typeof item === 'object' ? JSON.stringify(item) : String(item)
    if (value.every(Array.isArray)) return stringify(value.map(row => row.map(cell)), { delimiter })
    if (!value.every(isRecord)) {
      throw new Error('CSV holds a list of objects or a list of lists; this one has other items')
    }
    const keys = [...new Set(value.flatMap(Object.keys))]
    return stringify(
      [
        ...(header ? [keys] : []),
        ...value.map(record => keys.map(key => cell(Object.hasOwn(record, key) ? record[key] : undefined)))
      ],
      { delimiter }
    )
  },
  async xml (value, indent) {
    const [root, ...more] = isRecord(value) ? Object.entries(value) : []
    if (root === undefined || more.length > 0 || Array.isArray(root[1])) {
      throw new Error('XML holds one element at its top: an object with one field that is not a list')
    }
    refuse(
      value,
      (_item, key) => key !== undefined && key !== xml.textNodeName && !/^@?[\p{L}_][\p{L}\p{N}_.:-]*$/u.test(key),
      'no name of an element or attribute'
    )
    const { XMLBuilder } = await import('fast-xml-parser')
    return new XMLBuilder({
      ...xml, format: indent > 0, indentBy: ' '.repeat(indent), suppressEmptyNode: true,
      suppressBooleanAttributes: false
    }).build(value)
  }
}

const xml = { ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: '#text' }

/** `007` and `1e999` stay texts: only what a number says in the same way is one. */
function infer (value: string, { quoting }: { quoting: boolean }): unknown {
  if (quoting) return value
  if (value === 'true' || value === 'false') return value === 'true'
  return value !== '' && String(Number(value)) === value && Number.isFinite(Number(value)) ? Number(value) : value
}

export function isRecord (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Dates become texts. @throws Error where a value is none of JSON's, nested too deeply, or one of too many */
function plain (value: unknown): unknown {
  let values = 0
  const walk = (item: unknown, depth: number): unknown => {
    if (++values > valuesMax) throw new Error(`the text holds more than ${valuesMax} values`)
    if (depth > depthMax) throw new Error(`the text nests values more than ${depthMax} deep`)
    if (typeof item === 'bigint') {
      if (!Number.isSafeInteger(Number(item))) {
        throw new Error(`the number ${String(item).slice(0, 50)} can't be kept exactly; write it as a string`)
      }
      return Number(item)
    }
    if (typeof item === 'number' && !Number.isFinite(item)) throw new Error(`the number ${item} has no equal in JSON`)
    if (item === undefined) return null
    if (typeof item !== 'object' || item === null) return item
    if (item instanceof Date) return item.toISOString()
    if (Array.isArray(item)) return item.map(each => walk(each, depth + 1))
    // fromEntries defines a field "__proto__" as any other.
    return Object.fromEntries(Object.entries(item).map(([key, each]) => [key, walk(each, depth + 1)]))
  }
  return walk(value, 0)
}

/** @throws Error naming the first place where something stands that a format can't say */
function refuse (value: unknown, wrong: (item: unknown, key?: string) => boolean, why: string, path = ''): void {
  if (wrong(value)) throw new Error(`${why} (at ${path || '/'})`)
  if (Array.isArray(value)) for (const [i, item] of value.entries()) refuse(item, wrong, why, `${path}/${i}`)
  else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (wrong(item, key)) throw new Error(`${why} (at ${path}/${key})`)
      refuse(item, wrong, why, `${path}/${key}`)
    }
  }
}
