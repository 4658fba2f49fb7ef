import type { CancelSignal } from '../lib/cancel.ts'

/** The scopes of a caller. `read` allows all operations that change nothing; `execute` allows all other operations. */
export const SCOPES = ['read', 'execute'] as const
export type AccessScope = typeof SCOPES[number]

/**
 * A pattern of skills (`git`, `data-*`) or of tools (`git:log`, `git:*-status`). `*` matches any characters, `?`
 * matches one character.
 */
export const ACCESS_PATTERN = /^[a-z0-9*?-]{1,64}(:[A-Za-z0-9_.*?-]{1,64})?$/

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
 * the names alone, and not on whether the skill or the tool exists.
 */
export type Allows = (skill_name: string, tool_name?: string) => boolean

/**
 * Compiles the patterns of skills and tools of a key, once for each key. Returns undefined when there are no patterns,
 * so that nothing is restricted.
 */
export function compileAllows (patterns: readonly string[]): Allows | undefined {
  if (patterns.length === 0) return undefined
  const pairs = patterns.map(pattern => {
    const [skill = '', tool = '*'] = pattern.split(':')
    return { skill: glob(skill), tool: glob(tool) }
  })
  return (skill_name, tool_name) =>
    pairs.some(({ skill, tool }) => skill.test(skill_name) && (tool_name === undefined || tool.test(tool_name)))
}

/**
 * The pattern was checked before: of the characters that have a meaning in a regular expression, it holds only `.`, `*`
 * and `?`.
 */
function glob (pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('?', '.').replace(/\*+/g, '.*')}$`, 's')
}
