import { castDefault, schemaOfType } from '../text/parameters.ts'

/** A parameter as skills of the kit declare it. */
export interface KitParameter {
  name: string
  paramType?: string
  required?: boolean
  defaultValue?: unknown
  validation?: {
    pattern?: string
    minLength?: number
    maxLength?: number
    minimum?: number
    maximum?: number
    enum?: unknown[]
  }
}

/** The arguments for a handler: with defaults, of their types, and checked. */
export function castArguments (
  parameters: readonly KitParameter[], pairs: readonly (readonly [string, string])[]
): { args: Record<string, unknown> } | { err: string } {
  const given = new Map(pairs)
  const args: Record<string, unknown> = Object.fromEntries(pairs)
  for (const { name, paramType = 'string', required = false, defaultValue, validation } of parameters) {
    const text = given.get(name) ?? defaultValue
    if (text === undefined || text === null) {
      if (required) return { err: `Missing required parameter: ${name}` }
      continue
    }
    const { type } = schemaOfType(paramType)
    const value = castDefault(type, text)
    if (value === undefined) return { err: `Parameter ${name} must be of type ${paramType}` }
    const fault = faultOf(value, validation ?? {})
    if (fault !== undefined) return { err: `Parameter ${name} ${fault}` }
    args[name] = value
  }
  return { args }
}

function faultOf (value: unknown, rules: NonNullable<KitParameter['validation']>): string | undefined {
  if (rules.enum !== undefined && !rules.enum.includes(value)) return `must be one of ${rules.enum.join(', ')}`
  if (typeof value === 'number') {
    if (rules.minimum !== undefined && value < rules.minimum) return `must be at least ${rules.minimum}`
    if (rules.maximum !== undefined && value > rules.maximum) return `must be at most ${rules.maximum}`
  }
  if (typeof value === 'string') {
    if (rules.minLength !== undefined && value.length < rules.minLength) return 'is too short'
    if (rules.maxLength !== undefined && value.length > rules.maxLength) return 'is too long'
    if (rules.pattern !== undefined && !new RegExp(rules.pattern).test(value)) return 'does not match its pattern'
  }
  return undefined
}
