import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PLUGIN_NAME, pluginApi, SLOTS, type AnyPlugin } from '../contracts/plugin.ts'
import { messageOf } from '../lib/errors.ts'

/**
 * Loads third-party plugins. Each is a module whose default export is a plugin: an absolute path, or the name of a
 * package that is installed beside Skillet or in `cwd`.
 * @throws Error naming the plugin and what is wrong with it
 */
export async function loadPlugins (specifiers: readonly string[], cwd: string): Promise<AnyPlugin[]> {
  return await Promise.all(specifiers.map(async specifier => {
    let module: unknown
    try {
      module = await import(isAbsolute(specifier) ? pathToFileURL(specifier).href : packageEntry(specifier, cwd) ?? specifier)
    } catch (error) {
      throw new Error(`plugins: "${specifier}" can't be loaded: ${messageOf(error)}`, { cause: error })
    }
    const plugin = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
    if (!isPlugin(plugin)) throw new Error(`plugins: "${specifier}" has no plugin as its default export; make it with definePlugin`)
    refuseOtherApi(specifier, plugin.name, plugin.api ?? (typeof module === 'object' && module !== null && 'api' in module ? module.api : undefined))
    return plugin
  }))
}

/**
 * What was made for another version of the API would fail somewhere, sometime.
 * @param api what the plugin says, or else its module
 */
function refuseOtherApi (specifier: string, name: string, api: unknown): void {
  if (api === pluginApi) return
  const plugin = `plugins: "${specifier}" (the plugin ${name})`
  if (typeof api !== 'number') throw new Error(`${plugin} does not say for which version of the plugin API it was made: make it with definePlugin, or give it "api: ${pluginApi}"`)
  const remedy = api > pluginApi ? 'install a newer Skillet, or an older version of the plugin' : 'install a newer version of the plugin'
  throw new Error(`${plugin} was made for version ${api} of the plugin API, and this Skillet has version ${pluginApi}: ${remedy}`)
}

const slots: ReadonlySet<string> = new Set(SLOTS)

function isPlugin (value: unknown): value is AnyPlugin {
  return typeof value === 'object' && value !== null &&
    'name' in value && typeof value.name === 'string' && PLUGIN_NAME.test(value.name) &&
    'slot' in value && typeof value.slot === 'string' && slots.has(value.slot) &&
    'setup' in value && typeof value.setup === 'function'
}

/**
 * URL of a package's entry in the `node_modules` of a folder or one above it. Node resolves names from the importing
 * module only, and the user's plugins are not installed there.
 */
function packageEntry (name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const home = join(folder, 'node_modules', name)
    try {
      const manifest: unknown = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
      return pathToFileURL(join(home, entryOf(manifest) ?? 'index.js')).href
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error
    }
    if (dirname(folder) === folder) return undefined
  }
}

/** The file that `exports` (for an import) or `main` names. */
function entryOf (manifest: unknown): string | undefined {
  const pick = (target: unknown): string | undefined => {
    if (typeof target === 'string') return target
    if (typeof target !== 'object' || target === null) return undefined
    for (const [condition, inner] of Object.entries(target)) {
      if (['.', 'node', 'import', 'default'].includes(condition)) return pick(inner)
    }
    return undefined
  }
  if (typeof manifest !== 'object' || manifest === null) return undefined
  return ('exports' in manifest ? pick(manifest.exports) : undefined) ?? ('main' in manifest ? pick(manifest.main) : undefined)
}
