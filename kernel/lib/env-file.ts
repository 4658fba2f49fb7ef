import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { messageOf } from './errors.ts'
import { isAbsent } from './file.ts'

/** The largest `.env`, in bytes. */
const bytesMax = 65_536

/** What is taken of a `.env`: settings, and the API key. */
const wanted = /^(SKILLET_[A-Z0-9_]+|SERVICE_API_KEY)$/

export interface EnvFile {
  path: string
  /** Its variables that count here: `SKILLET_…` and `SERVICE_API_KEY`. */
  values: Record<string, string>
}

/** The `.env` in a folder, which need not be there. */
export function envFile (directory: string): string {
  return join(directory, '.env')
}

/**
 * The `.env` in a folder; without values where there is none. What else is in it is for others.
 * @throws Error naming the file, and the line or what to run, when it can't be read, is no list of NAME=value, or
 * others could have written it or read the key in it
 */
export function readEnvFile (directory: string): EnvFile {
  const path = envFile(directory)
  const { text, mode } = read(path)
  refuseBroken(path, text)
  const values = Object.fromEntries(Object.entries(parseEnv(text)).filter((entry): entry is [string, string] => wanted.test(entry[0]) && entry[1] !== undefined))
  if (Object.keys(values).length > 0 && (mode & 0o022) !== 0) throw new Error(`other users can write to ${path}; run: chmod go-w ${path}`)
  if ('SERVICE_API_KEY' in values && (mode & 0o044) !== 0) throw new Error(`other users can read the SERVICE_API_KEY in ${path}; run: chmod 600 ${path}`)
  return { path, values }
}

function read (path: string): { text: string, mode: number } {
  try {
    const descriptor = openSync(path, 'r')
    try {
      const stats = fstatSync(descriptor)
      if (!stats.isFile()) return { text: '', mode: 0 } // a folder of that name is somebody else's
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
 * Node's parser passes over what it does not understand; a setting that was mistyped would be lost in silence.
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
