import type { ResolveFnOutput, ResolveHookContext } from 'node:module'
import { ownModule, type OwnModules } from './own-modules.ts'

/** What runs in the thread in which Node.js before 22.15 resolves imports. */
let own: OwnModules = new Map()

export function initialize (modules: OwnModules): void {
  own = modules
}

export async function resolve (
  specifier: string, context: ResolveHookContext,
  nextResolve: (specifier: string, context: ResolveHookContext) => Promise<ResolveFnOutput>
): Promise<ResolveFnOutput> {
  try {
    return await nextResolve(specifier, context)
  } catch (error) {
    return ownModule(own, specifier, error)
  }
}
