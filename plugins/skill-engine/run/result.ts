/** What a call of a skill's code came to: an output, or the message of a failure. */
export type Read = { output: string } | { failure: string }

const unknownShape: Read = {
  failure: 'the result of the tool has no known shape: neither a text, nor an object with "ok", "err", "success", "output" or "error"'
}

const known = ['ok', 'err', 'success', 'output', 'error']

/** Reads what `executeTool` returned, in any of the shapes that skills use. Runs in the thread of the skill. */
export function readResult (value: unknown): Read {
  if (typeof value === 'string') {
    const parsed = parse(value)
    return isTable(parsed) && known.some(key => key in parsed) ? readTable(parsed) : { output: value }
  }
  if (isTable(value) && known.some(key => key in value)) return readTable(value)
  return unknownShape
}

function readTable (table: Record<string, unknown>): Read {
  if (isSet(table['err'])) return { failure: textOf(table['err']) }
  if (!('ok' in table)) return readInner(table)
  const { ok } = table
  if (ok === null || ok === undefined) return { output: '' }
  if (typeof ok === 'string') return { output: ok }
  return isTable(ok) ? readInner(ok) : unknownShape
}

function readInner (table: Record<string, unknown>): Read {
  if ('success' in table || 'output' in table) {
    if (table['success'] !== false) return { output: outputOf(table['output']) }
    const said = [table['errorMessage'], table['error_message'], table['error']].find(isSet)
    return { failure: said === undefined ? 'the tool says that it failed, and not why' : textOf(said) }
  }
  return isSet(table['error']) ? { failure: textOf(table['error']) } : unknownShape
}

/**
 * Why a configuration is refused, by what `validateConfig` returned.
 * @returns undefined when it is not
 */
export function readVerdict (value: unknown): string | undefined {
  const parsed = typeof value === 'string' ? parse(value) : value
  if (!isTable(parsed)) return undefined
  const failed = parsed['success'] === false ? [parsed['errorMessage'], parsed['error_message']] : []
  const said = [parsed['err'], parsed['error'], ...failed].find(isSet)
  if (said !== undefined) return textOf(said)
  return parsed['success'] === false || parsed['valid'] === false ? 'validateConfig refuses the settings' : undefined
}

function parse (text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTable (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== ''
}

function textOf (value: unknown): string {
  if (typeof value === 'string') return value
  if (isTable(value) && typeof value['message'] === 'string') return value['message']
  return JSON.stringify(value) ?? String(value)
}

function outputOf (value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}
