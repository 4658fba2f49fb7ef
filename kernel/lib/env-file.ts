import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { messageOf } from './errors.ts'
import { isAbsent } from './file.ts'

/** The maximum size of a `.env`, in bytes. */
const bytesMax = 65_536

/** The variables that are read from a `.env`: settings, and the API key. */
const wanted = /^(SKILLET_[A-Z0-9_]+|SERVICE_API_KEY)$/

export interface EnvFile {
  path: string
  /** The variables of the file that Skillet uses: `SKILLET_…` and `SERVICE_API_KEY`. */
  values: Record<string, string>
}

/** The path of the `.env` in a folder; the file may be missing. */
export function envFile (directory: string): string {
  return join(directory, '.env')
}

/**
 * Reads the `.env` in a folder; the result has no values when the file is missing. All other variables in the file are
 * ignored.
 * @throws Error with the name of the file, and the line or a command that helps, when the file can't be read, is no
 * list of NAME=value, or when other users can write to it or read the key in it
 */
export function readEnvFile (directory: string): EnvFile {
  const path = envFile(directory)
  const { text, mode } = read(path)
  refuseBroken(path, text)
  const values = Object.fromEntries(Object.entries(parseEnv(text))
    .filter((entry): entry is [string, string] => wanted.test(entry[0]) && entry[1] !== undefined))
  if (Object.keys(values).length > 0 && (mode & 0o022) !== 0) {
    throw new Error(`other users can write to ${path}; run: chmod go-w ${path}`)
  }
  if ('SERVICE_API_KEY' in values && (mode & 0o044) !== 0) {
    throw new Error(`other users can read the SERVICE_API_KEY in ${path}; run: chmod 600 ${path}`)
  }
  return { path, values }
}

function read (path: string): { text: string, mode: number } {
  try {
    const descriptor = openSync(path, 'r')
    try {
      const stats = fstatSync(descriptor)
      if (!stats.isFile()) return { text: '', mode: 0 } // a folder with this name belongs to another program
      if (stats.size > bytesMax) throw new Error(`it has ${stats.size} bytes; the most is ${bytesMax}`)
      return { text: readFileSync(descriptor, 'utf8').replace(/^\uFEFF/, ''), mode: stats.mode }
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (isAbsent(error)) return { text: '', mode: 0 }
    throw new Error(`${path} can't be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Refuses invalid lines. Node's parser skips lines that it does not understand, so a mistyped setting would be lost
 * without a message.
 * @throws Error
 */
function refuseBroken (path: string, text: string): void {
  let open: { quote: string, line: number } | undefined
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (open !== undefined) {
      if (line.includes(open.quote)) open = undefined
      continue
    }
    if (/^\s*(#|$)/.test(line)) continue
    const [, value] = /^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_.-]*\s*=\s*(.*)$/.exec(line) ?? []
    if (value === undefined) throw new Error(`${path}:${index + 1} is no NAME=value`)
    const [quote] = /^["'`]/.exec(value) ?? []
    if (quote !== undefined && !value.slice(1).includes(quote)) open = { quote, line: index + 1 }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line} has a value whose quotation mark is not closed`)
}
