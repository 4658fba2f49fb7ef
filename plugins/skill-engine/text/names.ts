import { TOOL_NAME } from '../../../kernel/index.ts'

/** The longest name of a skill, in characters. */
const nameMax = 64

/** The name of a skill as this server writes it: `Unit Converter` becomes `unit-converter`. May be empty. */
export function skillNameOf (text: string): string {
  const trim = (name: string): string => name.replace(/^-/, '').replace(/-$/, '')
  return trim(trim(text.slice(0, 1_000).toLowerCase().replace(/[^a-z0-9]+/g, '-')).slice(0, nameMax))
}

/** Whether a tool can be offered under this name. */
export function isToolName (name: unknown): name is string {
  return typeof name === 'string' && TOOL_NAME.test(name) && !reserved.has(name)
}

/** Names that every object has: a tool of such a name is not found, or another one is. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/** A list of short texts for a note or an error: bounded, in one line. */
export function brief (text: string, charactersMax = 200): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > charactersMax ? `${line.slice(0, charactersMax)}…` : line
}
