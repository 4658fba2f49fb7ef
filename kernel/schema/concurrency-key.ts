import type { JsonObject } from '../contracts/schemas.ts'

const placeholder = /\{\{([^{}]*)\}\}/g

/** The names of the parameters in the key of a concurrency rule. */
export function parametersOfKey (key: string): string[] {
  return [...key.matchAll(placeholder)].map(([, name = '']) => name)
}

/** The key for these parameters: a string as it is, anything else as JSON, and nothing for an absent parameter. */
export function fillKey (key: string, parameters: JsonObject): string {
  return key.replaceAll(placeholder, (_whole, name: string) => {
    const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
  })
}
