import { readFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, extname, join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Loader, Plugin } from 'esbuild'
import { messageOf } from '../../../kernel/index.ts'
import { moduleBytesMax, refuseUnlessSmall } from '../shared/files.ts'

const loaders: Readonly<Record<string, Loader>> = {
  '.js': 'js', '.mjs': 'js', '.cjs': 'js', '.jsx': 'jsx', '.ts': 'ts', '.mts': 'ts', '.cts': 'ts', '.tsx': 'tsx'
}

/**
 * In the bundle, these expressions would give the location of the cache; the author of a file means the file's own
 * location.
 */
export const placeDefines: Record<string, string> = {
  'import.meta.url': '__skillet_url', 'import.meta.filename': '__skillet_file',
  'import.meta.dirname': '__skillet_folder',
  __filename: '__skillet_file', __dirname: '__skillet_folder'
}

/**
 * Gives each file its own values of the names above. They are put before the first character of the file, so that line
 * numbers stay the same.
 */
export const filesKnowTheirPlace: Plugin = {
  name: 'files-know-their-place',
  setup (build) {
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
      try {
        refuseUnlessSmall(path, moduleBytesMax)
      } catch (error) {
        return { errors: [{ text: messageOf(error) }] }
      }
      const text = (await readFile(path, 'utf8')).replace(/^#!.*/, '')
      if (!/\bimport\.meta\b|\b__(file|dir)name\b/.test(text)) return undefined
      const [url, file, folder] = [pathToFileURL(path).href, path, dirname(path)].map(value => JSON.stringify(value))
      return {
        contents: `const __skillet_url = ${url}, __skillet_file = ${file}, __skillet_folder = ${folder};${text}`,
        loader: loaders[extname(path)] ?? 'js'
      }
    })
  }
}

/** The file extensions that are tried for a path without one of them. */
const endings = ['', '.ts', '.tsx', '.js', '.jsx', '.json']

/**
 * Reports the files that a build reads, and those that it looks for: after a failed build, a change of one of them may
 * solve the problem.
 * @param names called with absolute paths; not all of them need to exist
 */
export function inputsAreNamed (names: (path: string) => void): Plugin {
  return {
    name: 'inputs-are-named',
    setup (build) {
      build.onLoad({ filter: /^/ }, ({ path }) => {
        names(path)
        return undefined
      })
      build.onResolve({ filter: /^/ }, ({ path, resolveDir, pluginData }) => {
        if (pluginData === passed) return undefined
        if (!/^[./]/.test(path)) for (const place of packagePlaces(path, resolveDir)) names(place)
        else for (const ending of endings) names(`${resolve(resolveDir, path)}${ending}`)
        if (/^[./].*\.js$/.test(path)) names(resolve(resolveDir, path).replace(/js$/, 'ts'))
        return undefined
      })
    }
  }
}

/** The paths where a package may be, from a folder upwards. */
function packagePlaces (path: string, folder: string): string[] {
  if (isBuiltin(path) || path === 'skillet/skill') return []
  const name = path.split('/').slice(0, path.startsWith('@') ? 2 : 1)
  const places: string[] = []
  for (let at = folder; ; at = dirname(at)) {
    places.push(join(at, 'node_modules', ...name, 'package.json'))
    if (dirname(at) === at) return places
  }
}

const passed = Symbol('resolved by esbuild itself')

/**
 * Does not bundle packages, but imports them by their absolute path: they may contain files that can't be bundled, and
 * skills share them. A missing package that is imported only when it is needed fails at that time.
 */
export function packagesStay (skill_module: string): Plugin {
  return {
    name: 'packages-stay',
    setup (build) {
      build.onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
        if (pluginData === passed || kind === 'entry-point' || isBuiltin(path)) return undefined
        if (path === 'skillet/skill') return { path: skill_module }
        const resolved = await build.resolve(path, { kind, importer, resolveDir, pluginData: passed })
        if (resolved.errors.length > 0) return kind === 'import-statement' ? undefined : { path, external: true }
        if (
          resolved.external || !resolved.path.includes(`${sep}node_modules${sep}`)
          || !/\.([cm]?js|node)$/.test(resolved.path)
        ) {
          return resolved
        }
        return {
          path: kind === 'require-call' || kind === 'require-resolve'
            ? resolved.path
            : pathToFileURL(resolved.path).href,
          external: true
        }
      })
    }
  }
}
