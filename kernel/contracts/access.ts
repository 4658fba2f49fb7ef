import type { CancelSignal } from '../lib/cancel.ts'

/** What a caller may do: `read` is every operation that changes nothing, `execute` every other. */
export const SCOPES = ['read', 'execute'] as const
export type AccessScope = typeof SCOPES[number]

/** `git`, `data-*`, or tools: `git:log`, `git:*-status`. `*` stands for any characters, `?` for one. */
export const ACCESS_PATTERN = /^[a-z0-9*?-]{1,64}(:[A-Za-z0-9_.*?-]{1,64})?$/

/** The rights that came with a call. A call without any may do everything: the command line, an agent on stdio. */
export interface Access {
  /** Name of the key; it stands in the record of what it runs. */
  readonly key: string
  readonly scopes: ReadonlySet<AccessScope>
  /** Absent where it may use all skills. */
  readonly allows?: Allows
  /**
   * Aborts when the key is revoked or its rights change: what lasts longer than a request ends then. Absent where
   * neither can happen.
   */
  readonly revoked?: CancelSignal
}

/** Whether a tool, or any tool of a skill, may be seen and run. Of the names alone, never of what exists. */
export type Allows = (skill_name: string, tool_name?: string) => boolean

/**
 * Compiles patterns over skills and tools, once for a key; undefined where there are none and nothing is restricted.
 */
export function compileAllows (patterns: readonly string[]): Allows | undefined {
  if (patterns.length === 0) return undefined
  const pairs = patterns.map(pattern => {
    const [skill = '', tool = '*'] = pattern.split(':')
    return { skill: glob(skill), tool: glob(tool) }
  })
  return (skill_name, tool_name) => pairs.some(({ skill, tool }) => skill.test(skill_name) && (tool_name === undefined || tool.test(tool_name)))
}

/** The pattern was checked: of what means something to a regular expression it holds `.`, `*` and `?` only. */
function glob (pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('?', '.').replace(/\*+/g, '.*')}$`, 's')
}
