import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'smol-toml'
import { isObject, parseKeys, type KeySettings } from '../../../kernel/index.ts'

/**
 * Adds a key to the text of a configuration file. All other text stays unchanged, including comments.
 * @throws Error when the name is in use, or a table can't be added at the end of the text
 */
export function addKey (text: string, name: string, settings: KeySettings): string {
  if (Object.hasOwn(parseKeys(text), name)) {
    throw new Error(`there is a key "${name}" already; revoke it first, or choose another name`)
  }
  const table = stringify({ server: { keys: { [name]: settings } } })
  // `stringify` also writes empty parent tables in some versions; only the last table is needed.
  const own = table.slice(table.indexOf(`[server.keys.${name}]`))
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const changed = `${text}${gap}${own.trimEnd()}\n`
  checkChange(text, changed, name, settings)
  return changed
}

/**
 * Removes the table of a key from the text of a configuration file, and no other text.
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
    // The comment lines right above the next table, or at the end of the file, stay, with the empty line before them.
    while (to > from + 1 && /^\s*(#.*)?$/.test(lines[to - 1] ?? '')) to--
    if (from > 0 && lines[from - 1]?.trim() === '' && (lines[to]?.trim() ?? '') === '') to++
    const changed = [...lines.slice(0, from), ...lines.slice(to)].join('\n')
    try {
      checkChange(text, changed, name, undefined)
      return changed
    } catch {} // for example because of an array over several lines; the error below reports it
  }
  throw new Error(`the key "${name}" is not written as a table [server.keys.${name}] that can be taken out; remove it by hand`)
}

/**
 * Checks that the change had the intended effect, and no other.
 * @throws Error
 */
function checkChange (before: string, after: string, name: string, settings: KeySettings | undefined): void {
  const expected = withoutKey(parse(before), name)
  const changed = parse(after)
  const keys = parseKeys(after)
  const isThere = Object.hasOwn(keys, name) ? isDeepStrictEqual({ ...keys[name] }, settings) : settings === undefined
  if (!isThere || !isDeepStrictEqual(plain(withoutKey(changed, name)), plain(expected))) {
    throw new Error('the configuration file can\'t be changed without changing more than the key')
  }
}

/** A configuration without a key, and without the tables that existed only for this key. */
function withoutKey (config: Record<string, unknown>, name: string): Record<string, unknown> {
  const { server, ...rest } = config
  if (!isObject(server)) return config
  const { keys, ...others } = server
  const left = Object.fromEntries(Object.entries(isObject(keys) ? keys : {}).filter(([keyName]) => keyName !== name))
  const section = { ...others, ...(Object.keys(left).length > 0 && { keys: left }) }
  return { ...rest, ...(Object.keys(section).length > 0 && { server: section }) }
}

/** Removes prototypes: parsed tables have none, while tables made here have one. */
function plain (config: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(config))
}
