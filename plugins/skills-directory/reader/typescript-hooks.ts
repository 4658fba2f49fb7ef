import { readFile } from 'node:fs/promises'
import type { LoadHook, ResolveHook } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'

/**
 * Hooks with which Node.js loads TypeScript files from their own location, so that `process.argv` and `import.meta`
 * have the right values.
 */
export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context)
  } catch (error) {
    // TypeScript imports use the file extension of the compiled file, or none.
    if (!/^\.{0,2}\//.test(specifier) || context.parentURL?.endsWith('.ts') !== true) throw error
    return await next(specifier.endsWith('.js') ? specifier.replace(/\.js$/, '.ts') : `${specifier}.ts`, context)
  }
}

export const load: LoadHook = async (url, context, next) => {
  if (!url.startsWith('file:') || !/\.[cm]?ts$/.test(url)) return await next(url, context)
  const path = fileURLToPath(url)
  const { code } = await transform(await readFile(path, 'utf8'), {
    loader: 'ts', format: 'esm', target: 'node20', sourcefile: path, sourcemap: 'inline', tsconfigRaw: '{}'
  })
  return { format: 'module', source: code, shortCircuit: true }
}
