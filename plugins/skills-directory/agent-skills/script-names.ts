import { createHash } from 'node:crypto'
import { extname } from 'node:path'

/** The names of the other tools of the folder. */
const taken = ['instructions', 'read', 'list']

/**
 * The names of the tools: a script's path without its ending, `office/unpack.py` → `office_unpack`. When another script
 * or tool has this name, the ending is added; when the name is still not unique or is too long, a part of the path's
 * hash is added. The name of a script depends only on scripts with which it would share a name.
 */
export function nameAll (files: readonly string[]): string[] {
  const clean = (file: string): string => file.replace(/[^A-Za-z0-9_.-]+/g, '_') || 'script'
  const stem = (file: string): string => clean(file.slice(0, file.length - extname(file).length))
  const hashed = (name: string, file: string): string =>
    `${name.slice(0, 55)}_${createHash('sha256').update(file).digest('hex').slice(0, 8)}`
  const unique = (names: readonly string[]): ((name: string) => boolean) => {
    const count = new Map<string, number>(taken.map(name => [name, 1]))
    for (const name of names) count.set(name, (count.get(name) ?? 0) + 1)
    return name => count.get(name) === 1
  }
  const short = unique(files.map(stem))
  const wanted = files.map(file => (short(stem(file)) ? stem(file) : clean(file)))
  const whole = unique(wanted)
  return files.map((file, i) => {
    const name = wanted[i] ?? file
    return whole(name) && name.length <= 64 && !reserved.has(name) ? name : hashed(name, file)
  })
}

/** Names that every JavaScript object inherits. */
const reserved = new Set(['constructor', 'prototype', '__proto__'])
