import { createHash } from 'node:crypto'
import type { Operation } from './operations.ts'

/** Names that every JavaScript object has; a tool with such a name leads to mistakes. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])
const longest = 64
const hashLength = 8

/**
 * A name for each operation, from its operationId, or its method and path. A name that is too long, or that two
 * operations would have, ends in a hash of method and path.
 * @param kept names that operations had before, by their key: they keep them
 * @returns the names by key
 */
export function nameOperations (
  operations: readonly Operation[], kept: ReadonlyMap<string, string> = new Map()
): Map<string, string> {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  for (const { key } of operations) {
    const name = kept.get(key)
    if (name === undefined || taken.has(name)) continue
    names.set(key, name)
    taken.add(name)
  }
  const plain = new Map<string, number>()
  const fresh = operations.filter(({ key }) => !names.has(key))
  for (const operation of fresh) plain.set(plainName(operation), (plain.get(plainName(operation)) ?? 0) + 1)
  for (const operation of fresh) {
    const name = plainName(operation)
    const isFree = name.length <= longest && plain.get(name) === 1 && !taken.has(name) && !reserved.has(name)
    const chosen = isFree ? name : hashed(name, operation.key, taken)
    names.set(operation.key, chosen)
    taken.add(chosen)
  }
  return names
}

function plainName ({ id, method, path }: Operation): string {
  const fromId = id === undefined ? '' : normal(id)
  return fromId === '' ? normal(`${method} ${path.replaceAll(/[{}]/g, '')}`) : fromId
}

function normal (text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replace(/^_+|_+$/g, '')
}

/** The hash depends on the operation alone, unless another operation has got the very name. */
function hashed (name: string, key: string, taken: ReadonlySet<string>): string {
  for (let i = 0; ; i++) {
    const hash = createHash('sha256').update(i === 0 ? key : `${key} ${i}`).digest('hex').slice(0, hashLength)
    const chosen = `${name.slice(0, longest - hashLength - 1)}_${hash}`
    if (!taken.has(chosen)) return chosen
  }
}
