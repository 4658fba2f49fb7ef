import type { Access, AccessScope } from '../contracts/access.ts'
import { SkilletError } from '../lib/errors.ts'

/** @param what what needs the scope @throws SkilletError FORBIDDEN when a call does not have the scope */
export function requireScope (access: Access | undefined, scope: AccessScope, what: string): void {
  if (access === undefined || access.scopes.has(scope)) return
  throw new SkilletError('FORBIDDEN', `The key "${access.key}" lacks the scope "${scope}", which ${what} needs`, {
    key: access.key,
    scope
  })
}
