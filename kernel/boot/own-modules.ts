import module, { createRequire, type ResolveFnOutput } from 'node:module'
import { pathToFileURL } from 'node:url'
import { hasCode } from '../lib/file.ts'

/** What plugins may import of Skillet: the modules in `exports` of package.json. */
const names = ['skillet', 'skillet/plugin', 'skillet/testing', 'skillet/skill']

/** The URLs of modules by what imports call them. */
export type OwnModules = ReadonlyMap<string, string>

let isOffered = false

/**
 * From now on, a module of this process that imports `skillet/plugin` and has no package `skillet` above it finds the
 * module of the running Skillet. A package that is there has precedence: its `definePlugin` writes for which version of
 * the API the plugin was made, and ours would write our own version into any plugin.
 */
export function offerOwnModules (): void {
  if (isOffered) return
  isOffered = true
  const require = createRequire(import.meta.url)
  // Our package finds itself by its name.
  const own: OwnModules = new Map(names.map(name => [name, pathToFileURL(require.resolve(name)).href]))
  const { registerHooks }: { registerHooks?: typeof module.registerHooks } = module // since Node.js 22.15
  if (registerHooks === undefined) module.register(new URL('own-modules-thread.js', import.meta.url), { data: own })
  else {
    registerHooks({
      resolve (specifier, context, nextResolve) {
        try {
          return nextResolve(specifier, context)
        } catch (error) {
          return ownModule(own, specifier, error)
        }
      }
    })
  }
}

/** The own module that an import means which failed with an error. @throws that error, where it means none */
export function ownModule (own: OwnModules, specifier: string, error: unknown): ResolveFnOutput {
  const url = own.get(specifier)
  if (url === undefined || !hasCode(error, 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND')) throw error
  return { url, shortCircuit: true }
}
