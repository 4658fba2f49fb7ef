import type { RetryPolicy, ToolAnnotations } from '../../../kernel/index.ts'

/**
 * Checks what a tool says of its effects.
 * @throws Error for what contradicts itself, and for a policy of retries that would repeat effects
 */
export function checkEffects ({ read_only, destructive, idempotent }: ToolAnnotations = {}, retry?: RetryPolicy): void {
  if (read_only === true && destructive === true) {
    throw new Error('annotations: a tool that is read_only can\'t be destructive')
  }
  if (retry !== undefined && read_only !== true && idempotent !== true) {
    throw new Error('retry: only a tool whose annotations say idempotent or read_only may be run again')
  }
}

/** @throws Error for a placeholder that names no parameter */
export function checkApproval (approval = '', parameters: readonly { name: string }[]): void {
  for (const [whole, name] of approval.matchAll(/\{\{([^{}]*)\}\}/g)) {
    if (parameters.some(parameter => parameter.name === name)) continue
    throw new Error(`approval: ${whole} names no parameter of the tool`)
  }
}
