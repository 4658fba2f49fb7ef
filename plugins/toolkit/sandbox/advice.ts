import type { Outcome, SkillDefinition } from '../../../kernel/index.ts'

/** What Node, Python and the system say where something is not allowed, or can't be seen or reached. */
const refusals = new RegExp([
  '\\b(EACCES|EPERM|EROFS|ENETUNREACH|EAI_AGAIN|ENOTFOUND|ENOENT|ERR_MODULE_NOT_FOUND)\\b',
  'Permission denied|Operation not permitted|Read-only file system|Network is unreachable',
  'Could not resolve host|Temporary failure in name resolution|Name or service not known',
  'Cannot find (module|package)'
].join('|'), 'i')

/** Whether the sandbox may be the reason for an error. */
export function mayBeRefused (error: string): boolean {
  return refusals.test(error)
}

/** Says of a failed run in the sandbox what its author can do, where the sandbox may be the reason. */
export function advised (
  outcome: Outcome, { name, trusted }: Pick<SkillDefinition, 'name' | 'trusted'>
): Outcome {
  if (outcome.status !== 'failed') return outcome
  const { message, details } = outcome.error
  const stderr = typeof details['stderr'] === 'string' ? details['stderr'] : ''
  if (!mayBeRefused(message) && !mayBeRefused(stderr)) return outcome
  const remedy = trusted ? '' : `, or, if you trust the skill, run \`skillet trust ${name}\``
  const hint = `it ran in a sandbox, which may have refused this: name what it needs in its permissions${remedy}`
  return { ...outcome, error: { details, message: `${message} (${hint})` } }
}
