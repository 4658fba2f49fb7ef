import { cacheLimits, isObject, type JsonObject } from '../../../kernel/index.ts'
import type { Found, FromThread } from './protocol.ts'

const reasonMax = 8192

/**
 * Checks a message from the model's thread, since third-party libraries in that thread could send messages too.
 * @param tools the number of tools
 * @returns undefined when it is not a valid message of the thread
 */
export function readFromThread (value: unknown, tools: number): FromThread | undefined {
  if (!isObject(value)) return undefined
  const { type, id } = value
  switch (type) {
    case 'ready': return readReady(value)
    case 'failed':
      return typeof value['reason'] === 'string' ? { type, reason: value['reason'].slice(0, reasonMax) } : undefined
    case 'progress': {
      const { generation, indexed, total } = value
      return isCount(generation) && isCount(indexed) && isCount(total) && indexed <= total
        ? { type, generation, indexed, total }
        : undefined
    }
    case 'read': {
      const keys: unknown = value['keys']
      return isCount(id) && Array.isArray(keys) && keys.length <= cacheLimits.keys && keys.every(isKey)
        ? { type, id, keys }
        : undefined
    }
    case 'write': {
      const entries: unknown = value['entries']
      return Array.isArray(entries) && entries.length <= cacheLimits.keys && entries.every(isEntry)
        ? { type, entries }
        : undefined
    }
    case 'found': {
      const found = readFound(value['found'], tools)
      return isCount(id) && found !== undefined ? { type, id, found } : undefined
    }
    case 'error': return isCount(id) && typeof value['reason'] === 'string'
      ? { type, id, reason: value['reason'].slice(0, reasonMax) }
      : undefined
    default: return undefined
  }
}

function readReady ({ model, dimensions, runtime, slower, exact }: JsonObject): FromThread | undefined {
  if (typeof model !== 'string' || !isCount(dimensions) || typeof runtime !== 'string') return undefined
  if (!isMaybeText(slower) || !isMaybeText(exact)) return undefined
  return {
    type: 'ready', model, dimensions, runtime,
    ...(slower !== undefined && { slower }),
    ...(exact !== undefined && { exact })
  }
}

function readFound (value: unknown, most: number): Found | undefined {
  if (!isObject(value)) return undefined
  const { tools, cosines, mean, deviation } = value
  if (
    !(tools instanceof Uint32Array) || !(cosines instanceof Float32Array) || tools.length !== cosines.length
    || tools.length > most
  ) {
    return undefined
  }
  if (!isNumber(mean) || !isNumber(deviation) || !tools.every(tool => tool < most) || !cosines.every(Number.isFinite)) {
    return undefined
  }
  return { tools, cosines, mean, deviation }
}

function isKey (value: unknown): value is string {
  return typeof value === 'string' && value.length <= cacheLimits.key_characters
}

function isEntry (value: unknown): value is readonly [string, Uint8Array] {
  return Array.isArray(value) && value.length === 2 && isKey(value[0]) && value[1] instanceof Uint8Array
    && value[1].length <= cacheLimits.value_bytes
}

function isMaybeText (value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

function isCount (value: unknown): value is number {
  return isNumber(value) && Number.isInteger(value) && value >= 0
}

function isNumber (value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
