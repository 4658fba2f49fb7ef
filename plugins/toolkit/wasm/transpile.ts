import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode, isObject, messageOf, replaceFile } from '../../../kernel/index.ts'

/** A component in the parts that a JavaScript engine runs. */
export interface Component {
  /** The module that exports `instantiate`. */
  code: string
  /** The core modules, by the names that the code has for them. */
  cores: Record<string, Uint8Array>
  /** The interfaces and functions that it imports, without versions. */
  imports: string[]
  /** What it exports: functions in camel case, interfaces with their versions. */
  exports: string[]
}

const transpiler = '@bytecodealliance/jco-transpile'
/** Changes whenever the result for the same component changes. */
const recipe = `1 ${transpiler} 0.15.0`
/** The most core modules of a component. */
const coresMax = 100
const codeFile = 'component.js'

/**
 * Transpiles a component, or finds the result in the cache, where its name is the hash of the component.
 * @throws Error in one line, without the name of the file
 */
export async function transpiled (bytes: Uint8Array, cache_dir: string): Promise<Component> {
  const hash = createHash('sha256').update(recipe).update('\0').update(bytes).digest('hex')
  const path = join(cache_dir, `${hash}.component.json`)
  const kept = readKept(path)
  if (kept !== undefined) return kept
  const component = await transpile(bytes)
  mkdirSync(cache_dir, { recursive: true, mode: 0o700 })
  const cores = Object.fromEntries(Object.entries(component.cores).map(([name, core]) =>
    [name, Buffer.from(core).toString('base64')]))
  await replaceFile(path, JSON.stringify({ ...component, cores }), { durable: false })
  return component
}

/** A result in the cache; undefined where it is missing or damaged. */
function readKept (path: string): Component | undefined {
  if (!existsSync(path)) return undefined
  try {
    const { code, cores, imports, exports } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    const isList = (list: unknown): list is string[] =>
      Array.isArray(list) && list.every(item => typeof item === 'string')
    if (typeof code !== 'string' || !isObject(cores) || !isList(imports) || !isList(exports)) return undefined
    const now = new Date()
    utimesSync(path, now, now)
    return {
      code, imports, exports,
      cores: Object.fromEntries(Object.entries(cores).map(([name, core]) =>
        [name, Buffer.from(String(core), 'base64')]))
    }
  } catch {
    return undefined
  }
}

async function transpile (bytes: Uint8Array): Promise<Component> {
  const { transpileBytes } = await loadTranspiler()
  let result
  try {
    result = await transpileBytes(Uint8Array.from(bytes), {
      name: 'component', instantiation: 'sync', base64Cutoff: 0, nodejsCompat: false, tlaCompat: false,
      wasiShim: false, emitTypescriptDeclarations: false
    })
  } catch (error) {
    throw new Error(`is no valid component: ${messageOf(error).split('\n', 1)[0]}`, { cause: error })
  }
  const { files, imports, exports } = result
  const code = files[codeFile]
  const cores = Object.entries(files).filter(([name]) => name !== codeFile)
  if (code === undefined || cores.length > coresMax) throw new Error(`is a component with ${cores.length} core modules`)
  return {
    code: Buffer.from(code).toString('utf8'),
    cores: Object.fromEntries(cores),
    imports,
    exports: exports.map(([name]) => name)
  }
}

/** Loads the transpiler, an optional dependency: it takes about 100 MB. @throws Error with the remedy */
async function loadTranspiler (): Promise<typeof import('@bytecodealliance/jco-transpile')> {
  try {
    return await import('@bytecodealliance/jco-transpile')
  } catch (error) {
    if (!hasCode(error, 'ERR_MODULE_NOT_FOUND')) throw error
    const remedy = `install it with Skillet: npm install ${transpiler}@0.15.0`
    throw new Error(`is a component, which needs the package ${transpiler}, and that is missing; ${remedy}`, {
      cause: error
    })
  }
}
