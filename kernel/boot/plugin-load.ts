import { readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PLUGIN_NAME, pluginApi, SLOTS, type AnyPlugin } from '../contracts/plugin.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { messageOf } from '../lib/errors.ts'
import { isAbsent } from '../lib/file.ts'
import { isObject } from '../lib/json.ts'
import { offerOwnModules } from './own-modules.ts'

/**
 * Loads third-party plugins. A specifier is the absolute path of a module or of the folder of a package, or the name of
 * a package that is installed beside Skillet or in `cwd`. The default export of the module is the plugin.
 * @throws Error with the specifier of the plugin and the fault
 */
export async function loadPlugins (specifiers: readonly string[], cwd: string): Promise<AnyPlugin[]> {
  if (specifiers.length > 0) offerOwnModules()
  const plugins: AnyPlugin[] = []
  // One after the other: Node refuses a `require` of an ES module, as of skillet/plugin, that an `import` is loading.
  for (const specifier of specifiers) plugins.push(await loadPlugin(specifier, cwd))
  return plugins
}

async function loadPlugin (specifier: string, cwd: string): Promise<AnyPlugin> {
  let module: unknown
  try {
    module = await import(isAbsolute(specifier) ? pathEntry(specifier) : packageEntry(specifier, cwd) ?? specifier)
  } catch (error) {
    throw new Error(`plugins: "${specifier}" can't be loaded: ${messageOf(error)}`, { cause: error })
  }
  const { default: plugin, api }: JsonObject = isObject(module) ? module : {}
  if (!isPlugin(plugin)) {
    throw new Error(`plugins: "${specifier}" has no plugin as its default export; make it with definePlugin`)
  }
  refuseOtherApi(specifier, plugin.name, plugin.api ?? api)
  return plugin
}

/**
 * Refuses a plugin for another version of the API, because it would fail later at an unknown place.
 * @param api the API version that the plugin declares, or else the version that its module declares
 */
function refuseOtherApi (specifier: string, name: string, api: unknown): void {
  if (api === pluginApi) return
  const plugin = `plugins: "${specifier}" (the plugin ${name})`
  if (typeof api !== 'number') {
    throw new Error(`${plugin} does not say for which version of the plugin API it was made: make it with definePlugin, or give it "api: ${pluginApi}"`)
  }
  const remedy = api > pluginApi
    ? 'install a newer Skillet, or an older version of the plugin'
    : 'install a newer version of the plugin'
  throw new Error(`${plugin} was made for version ${api} of the plugin API, and this Skillet has version ${pluginApi}: ${remedy}`)
}

const slots: ReadonlySet<string> = new Set(SLOTS)

function isPlugin (value: unknown): value is AnyPlugin {
  return typeof value === 'object' && value !== null
    && 'name' in value && typeof value.name === 'string' && PLUGIN_NAME.test(value.name)
    && 'slot' in value && typeof value.slot === 'string' && slots.has(value.slot)
    && 'setup' in value && typeof value.setup === 'function'
}

/**
 * URL of a module by its path, or of the entry of the package in a folder: `index.js` where there is no package.json.
 */
function pathEntry (path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return pathToFileURL(path).href
  try {
    return folderEntry(path)
  } catch (error) {
    if (!isAbsent(error)) throw error
    return pathToFileURL(join(path, 'index.js')).href
  }
}

/**
 * URL of the entry of the package in a folder.
 * @throws Error when its package.json can't be read (with a `code`), or is not JSON
 */
function folderEntry (folder: string): string {
  const file = join(folder, 'package.json')
  const text = readFileSync(file, 'utf8')
  let manifest: unknown
  try {
    manifest = JSON.parse(text)
  } catch (error) {
    throw new Error(`${file} is not JSON: ${messageOf(error)}`, { cause: error })
  }
  return pathToFileURL(join(folder, entryOf(manifest) ?? 'index.js')).href
}

/**
 * URL of the entry of a package, in the `node_modules` of a folder or of a parent folder. Node resolves package names
 * only from the folder of the importing module, and the user's plugins are not installed there.
 */
function packageEntry (name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    try {
      return folderEntry(join(folder, 'node_modules', name))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error
    }
    if (dirname(folder) === folder) return undefined
  }
}

/** The entry file of a package, from `exports` (for an import) or `main`. */
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
  return ('exports' in manifest ? pick(manifest.exports) : undefined)
    ?? ('main' in manifest ? pick(manifest.main) : undefined)
}
