import type { CancelSignal } from '../lib/cancel.ts'
import { splitInstance, splitTool } from './names.ts'

/**
 * The scopes of a caller. `read` allows all operations that change nothing, `approve` those that decide on runs of
 * others, and `execute` all other operations.
 */
export const SCOPES = ['read', 'execute', 'approve'] as const
export type AccessScope = typeof SCOPES[number]
/** The scopes of a key for which none are named: an agent must not approve by oversight. */
export const usualScopes: readonly AccessScope[] = ['read', 'execute']

/**
 * A pattern of skills (`git`, `data-*`), of instances (`github@work`) or of tools (`git:log`, `github@work:get-*`). `*`
 * matches any characters of one part, `?` matches one character. A skill without an instance stands for all of them.
 */
export const ACCESS_PATTERN = /^[a-z0-9*?-]{1,64}(@[a-z0-9*?-]{1,64})?(:[A-Za-z0-9_.*?-]{1,64})?$/

/** The rights of a call. A call without rights may do everything: the command line, an agent on stdio. */
export interface Access {
  /** Name of the key; the records of executions that the key starts hold this name. */
  readonly key: string
  readonly scopes: ReadonlySet<AccessScope>
  /** Absent when the key may use all skills. */
  readonly allows?: Allows
  /**
   * Aborts when the key is revoked or its rights change: work that lasts longer than a request must end then. Absent
   * when neither can happen.
   */
  readonly revoked?: CancelSignal
}

/**
 * Returns whether a caller may see and run a tool, or any tool of a skill when no tool is named. The result depends on
 * the names alone, and not on whether the skill or the tool exists. `github` is the skill without an instance:
 * a right to `github@work` does not cover it.
 */
export interface Allows {
  (skill_name: string, tool_name?: string): boolean
  /** The same for a skill with any instance, or without one: for lists that show a skill once for all its instances. */
  readonly ofSome: (skill: string, tool_name?: string) => boolean
}

/**
 * Compiles the patterns of skills and tools of a key, once for each key. Returns undefined when there are no patterns,
 * so that nothing is restricted.
 */
export function compileAllows (patterns: readonly string[]): Allows | undefined {
  if (patterns.length === 0) return undefined
  const parts = patterns.map(pattern => {
    const { skill_name, tool_name = '*' } = splitTool(pattern)
    const { skill, instance = '*' } = splitInstance(skill_name)
    return { skill: glob(skill), instance: glob(instance), tool: glob(tool_name) }
  })
  const covers = (skill: string, instance: string | undefined, tool: string | undefined): boolean => parts.some(part =>
    part.skill.test(skill)
    && (instance === undefined || part.instance.test(instance))
    && (tool === undefined || part.tool.test(tool)))
  const allows = (skill_name: string, tool_name?: string): boolean => {
    const { skill, instance = '' } = splitInstance(skill_name)
    return covers(skill, instance, tool_name)
  }
  return Object.assign(allows, { ofSome: (skill: string, tool_name?: string) => covers(skill, undefined, tool_name) })
}

/**
 * The pattern was checked before: of the characters that have a meaning in a regular expression, it holds only `.`, `*`
 * and `?`.
 */
function glob (pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('?', '.').replace(/\*+/g, '.*')}$`, 's')
}
