import { createHash } from 'node:crypto'
import { TOOL_NAME } from '../../../kernel/index.ts'

const nameMax = 64
const hashLength = 8
/** Names of properties that every JavaScript object has; tools with such names lead to mistakes. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * The names of tools here, by their names at the server. A name that fits stays as it is. In others, each character
 * that does not fit becomes `_`, and what is too long is cut. A name that was changed and meets another one gets a hash
 * of its name at the server. So a name depends on no order, and only on names that it meets.
 */
export function toolNames (originals: readonly string[]): Map<string, string> {
  const names = new Map<string, string>()
  const distinct = [...new Set(originals)]
  const meets = new Map<string, number>()
  for (const original of distinct) {
    const name = fitting(original)
    meets.set(name, (meets.get(name) ?? 0) + 1)
  }
  for (const original of distinct) {
    const name = fitting(original)
    const isOwn = name === original
    const isAlone = meets.get(name) === 1 && !reserved.has(name) && original.length <= nameMax
    names.set(original, isOwn || isAlone ? name : hashed(name, original))
  }
  return names
}

function fitting (original: string): string {
  if (TOOL_NAME.test(original) && !reserved.has(original)) return original
  return original.replaceAll(/[^A-Za-z0-9_.-]/gu, '_').slice(0, nameMax)
}

function hashed (name: string, original: string): string {
  const hash = createHash('sha256').update(original).digest('hex').slice(0, hashLength)
  return `${name.slice(0, nameMax - hashLength - 1)}_${hash}`
}

/** Whether a tool is chosen by `include` and `exclude`, where `*` stands for any text. */
export function isChosen (
  name: string, { include, exclude = [] }: { include?: readonly string[], exclude?: readonly string[] }
): boolean {
  return (include === undefined || include.some(pattern => fits(name, pattern)))
    && !exclude.some(pattern => fits(name, pattern))
}

/** Compares the parts between the stars from left to right, which takes linear time. */
function fits (name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === pattern
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
  let at = first.length
  const end = name.length - last.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
