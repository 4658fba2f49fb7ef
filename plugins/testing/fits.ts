import { isObject } from '../../kernel/index.ts'

/** Whether a value is as a pattern says: see `TestContext.match`. */
export function fits (actual: unknown, pattern: unknown): boolean {
  if (pattern instanceof RegExp) return typeof actual === 'string' && pattern.test(actual)
  if (typeof pattern === 'string') return typeof actual === 'string' && actual.includes(pattern)
  if (Array.isArray(pattern)) {
    return Array.isArray(actual)
      && pattern.length === actual.length
      && pattern.every((part, i) => fits(actual[i], part))
  }
  if (!isObject(pattern)) return Object.is(actual, pattern)
  return typeof actual === 'object'
    && actual !== null
    && Object.entries(pattern).every(([name, part]) => fits(Reflect.get(actual, name), part))
}
