import { parametersOfKey, type ConcurrencyRule } from '../../../kernel/index.ts'
import type { DescribedSkill } from './protocol.ts'

/**
 * Checks the concurrency rule of a tool against its parameters.
 * @throws Error naming a placeholder without a parameter: runs that differ would count together
 */
export function checkConcurrency ({ key }: ConcurrencyRule, parameters: readonly { name: string }[]): void {
  const unknown = parametersOfKey(key).find(name => !parameters.some(parameter => parameter.name === name))
  if (unknown === undefined) return
  throw new Error(`concurrency/key: placeholder {{${unknown}}} has no parameter of that name`)
}

/**
 * Checks the concurrency rule of a skill against the parameters of all its tools. The tools of an MCP server may not be
 * known yet.
 * @throws Error as `checkConcurrency`
 */
export function checkConcurrencyOf ({ concurrency, tools }: Pick<DescribedSkill, 'concurrency' | 'tools'>): void {
  if (concurrency !== undefined && tools.length > 0) {
    checkConcurrency(concurrency, tools.flatMap(({ parameters }) => parameters))
  }
}
