import { pathToFileURL } from 'node:url'
import type { ToolContext } from '../../../kernel/index.ts'

type Run = (parameters: unknown, context: ToolContext) => unknown

/** What the modules this thread has loaded export as tools, by URL. */
const loaded = new Map<string, unknown>()

/** URLs by module and revision. A thread loads one revision of a module only, so there are as many as modules. */
const urls = new Map<string, { revision: string, url: string }>()

/** The module's URL: another revision is another module to Node. */
export function urlOf (module: string, revision: string): string {
  const cached = urls.get(module)
  if (cached?.revision === revision) return cached.url
  const url = pathToFileURL(module)
  url.searchParams.set('revision', revision)
  urls.set(module, { revision, url: url.href })
  return url.href
}

export function isLoaded (url: string): boolean {
  return loaded.has(url)
}

/** Imports a module. Rejects with what it throws. */
export async function load (url: string): Promise<void> {
  const module: unknown = await import(url)
  loaded.set(url, property(property(module, 'default'), 'tools'))
}

/** @throws Error when the loaded module has no such tool */
export function toolOf (url: string, name: string): Run {
  const tools = loaded.get(url)
  const tool = typeof tools === 'object' && tools !== null && Object.hasOwn(tools, name)
    ? property(tools, name)
    : undefined
  const run = property(tool, 'run')
  if (typeof run !== 'function') throw new Error(`the module's default export has no function tools.${name}.run`)
  const inherits = hasInheritedName(tool)
  return (parameters, context) =>
    Reflect.apply(run, tool, [inherits ? Object.setPrototypeOf(parameters, null) : parameters, context])
}

/** By tool: asked for each run. */
const inherited = new WeakMap<object, boolean>()

/** Whether a tool has a parameter such as `constructor`: it must find none where none was given. */
function hasInheritedName (tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return false
  let inherits = inherited.get(tool)
  if (inherits === undefined) {
    const parameters = property(tool, 'parameters')
    inherits = typeof parameters === 'object'
      && parameters !== null
      && Object.keys(parameters).some(name => name in Object.prototype)
    inherited.set(tool, inherits)
  }
  return inherits
}

function property (value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
