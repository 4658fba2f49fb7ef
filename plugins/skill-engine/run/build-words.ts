import { SkilletError, type JsonObject } from '../../../kernel/index.ts'

const dashed = 'must not begin with "-": it would pass for an option'

/** Parameters whose value stands alone. */
const isBare = (name: string): boolean => name === '' || name === 'arg' || name === 'resource'

/**
 * The words behind PROGRAM TOOL for a skill without code: `--key value` in the order in which parameters are declared.
 * @throws SkilletError INVALID_PARAMETERS for a value that would pass for an option
 */
export function buildWords (declared: readonly string[], parameters: Readonly<JsonObject>): string[] {
  return declared.flatMap(name => {
    const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (value === undefined || value === null) return []
    return (Array.isArray(value) ? value as unknown[] : [value]).flatMap(item => pair(name, item))
  })
}

function pair (name: string, value: unknown): string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.includes('\0') || !text.isWellFormed()) throw refuse(name, 'must not hold a NUL or half a character')
  if (isBare(name)) {
    if (text.startsWith('-')) throw refuse(name, dashed)
    return [text]
  }
  const option = `${name.length === 1 ? '-' : '--'}${name}`
  if (text === 'true') return [option]
  if (text === 'false') return []
  if (text.startsWith('-') && typeof value === 'string') throw refuse(name, dashed)
  return [option, text]
}

function refuse (name: string, why: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', `parameters/${name} ${why}`, { parameter: name })
}
