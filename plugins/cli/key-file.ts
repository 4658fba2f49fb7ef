import { chmod, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'smol-toml'
import { parseKeys, type KeySettings } from '../../kernel/index.ts'

/** How long another command that changes the file is waited for, and how old its traces are when it must have died, in milliseconds. */
const wait_ms = 5_000
const stale_ms = 30_000

/**
 * Adds a key to the text of a configuration file, leaving all else as it is, comments included.
 * @throws Error when the name is taken, or the text can't take a table at its end
 */
export function addKey (text: string, name: string, settings: KeySettings): string {
  if (Object.hasOwn(parseKeys(text), name)) throw new Error(`there is a key "${name}" already; revoke it first, or choose another name`)
  const table = stringify({ server: { keys: { [name]: settings } } })
  // `stringify` writes empty parents too in some versions; only the last table is wanted.
  const own = table.slice(table.indexOf(`[server.keys.${name}]`))
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const changed = `${text}${gap}${own.trimEnd()}\n`
  checkChange(text, changed, name, settings)
  return changed
}

/**
 * Removes the table of a key from the text of a configuration file, and nothing else.
 * @throws Error when there is no such key, or it is not written as a table of its own
 */
export function removeKey (text: string, name: string): string {
  if (!Object.hasOwn(parseKeys(text), name)) throw new Error(`there is no key "${name}"`)
  const lines = text.split('\n')
  const head = new RegExp(`^\\s*\\[\\s*server\\s*\\.\\s*keys\\s*\\.\\s*(["']?)${name}\\1\\s*\\]\\s*(#.*)?$`)
  const from = lines.findIndex(line => head.test(line))
  if (from !== -1) {
    let to = from + 1
    while (to < lines.length && !/^\s*\[/.test(lines[to] ?? '')) to++
    // What stands right above the next table, or at the end, belongs to that: a comment and the line before it.
    while (to > from + 1 && /^\s*(#.*)?$/.test(lines[to - 1] ?? '')) to--
    if (from > 0 && lines[from - 1]?.trim() === '' && (lines[to]?.trim() ?? '') === '') to++
    const changed = [...lines.slice(0, from), ...lines.slice(to)].join('\n')
    try {
      checkChange(text, changed, name, undefined)
      return changed
    } catch {} // an array over several lines, say; told below
  }
  throw new Error(`the key "${name}" is not written as a table [server.keys.${name}] that can be taken out; remove it by hand`)
}

/** That the change did what it should, and nothing else. @throws Error */
function checkChange (before: string, after: string, name: string, settings: KeySettings | undefined): void {
  const expected = withoutKey(parse(before), name)
  const found = parse(after)
  const keys = parseKeys(after)
  const isThere = Object.hasOwn(keys, name) ? isDeepStrictEqual({ ...keys[name] }, settings) : settings === undefined
  if (!isThere || !isDeepStrictEqual(plain(withoutKey(found, name)), plain(expected))) throw new Error('the configuration file can\'t be changed without changing more than the key')
}

/** A configuration without a key, and without the tables that were there for it alone. */
function withoutKey (config: Record<string, unknown>, name: string): Record<string, unknown> {
  const { server, ...rest } = config
  if (!isTable(server)) return config
  const { keys, ...others } = server
  const left = Object.fromEntries(Object.entries(isTable(keys) ? keys : {}).filter(([one]) => one !== name))
  const section = { ...others, ...(Object.keys(left).length > 0 && { keys: left }) }
  return { ...rest, ...(Object.keys(section).length > 0 && { server: section }) }
}

/** Parsed tables have no prototype, those made here have one. */
function plain (config: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(config))
}

function isTable (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Changes a file in one step: whoever reads it sees it before or after. A new one is for its owner only; one that is
 * there keeps its mode, and a link stays a link. Commands that change it at once take turns.
 * @throws Error, and the file is as it was
 */
export async function changeFile (path: string, change: (text: string) => string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await realpath(path).catch(() => path)
  const next = `${file}.next`
  const handle = await openAlone(next)
  try {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (isCode(error, 'ENOENT')) return ''
      throw error
    })
    await handle.writeFile(change(text))
    await handle.sync()
    const present = await stat(file).catch(() => undefined)
    if (present !== undefined) await chmod(next, present.mode & 0o777)
    await rename(next, file)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** The file to be is also the lock. */
async function openAlone (path: string): ReturnType<typeof open> {
  for (const end = performance.now() + wait_ms; ;) {
    try {
      return await open(path, 'wx', 0o600)
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
      const age_ms = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now())
      if (age_ms > stale_ms) await rm(path, { force: true })
      else if (performance.now() > end) throw new Error(`another command is changing the configuration; if none is, remove ${path}`, { cause: error })
      else await new Promise(resolve => setTimeout(resolve, 25))
    }
  }
}

function isCode (error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
