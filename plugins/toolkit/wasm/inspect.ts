import { memoriesOf } from './host/bound-memory.ts'
import { preview1Names } from './host/preview1/preview1.ts'
import { isKnownInterface } from './host/preview2/preview2.ts'
import { compile, Module } from './host/web-assembly.ts'
import { transpiled, type Component } from './transpile.ts'

/** The largest file of WebAssembly that is read, in bytes. */
export const wasmBytesMax = 32 * 1_048_576

/** A file of WebAssembly that can be run, by what it is. */
export type Inspected =
  /** A command of WASI preview 1. */
  | { kind: 'core', core: Uint8Array }
  /** A component: a command of WASI preview 2, or a skill of the Skill Engine. */
  | { kind: 'component', component: Component, world: 'command' | 'skill-engine' }

/** The functions that make a component a skill of the Skill Engine. */
const engineExports = ['getTools', 'executeTool']
/** What such a component may import beside WASI. */
const engineImports = new Set(['get-config', 'get-all-config'])
const namedMax = 5

/**
 * Tells what a file of WebAssembly is. None of it is run.
 * @param cache_dir where transpiled components are kept
 * @throws Error in one line, without the name of the file, for whatever can't be run
 */
export async function inspect (bytes: Uint8Array, cache_dir: string): Promise<Inspected> {
  switch (layerOf(bytes)) {
    case 'core': return { kind: 'core', core: await inspectCore(bytes) }
    case 'component': return inspectComponent(await transpiled(bytes, cache_dir))
  }
}

/** By the first eight bytes: the mark, the version, and the layer. */
function layerOf (bytes: Uint8Array): 'core' | 'component' {
  const [version, layer] = [bytes[4], bytes[6]]
  if (Buffer.from(bytes.subarray(0, 4)).toString('latin1') !== '\0asm' || bytes.length < 8) {
    throw new Error('is no WebAssembly: it does not begin with its mark')
  }
  if (version === 1 && layer === 0) return 'core'
  if (layer === 1) return 'component'
  throw new Error('is WebAssembly of a version that is not known')
}

async function inspectCore (bytes: Uint8Array): Promise<Uint8Array> {
  let module
  try {
    module = await compile(Uint8Array.from(bytes))
    memoriesOf(bytes)
  } catch (error) {
    throw new Error(`is no valid module: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  const known = preview1Names()
  const strange = Module.imports(module).filter(({ module, name, kind }) =>
    module !== 'wasi_snapshot_preview1' || kind !== 'function' || !known.has(name))
  refuseImports(strange.map(({ module, name }) => `${module}.${name}`))
  const exported = Module.exports(module)
  const has = (name: string, kind: string): boolean =>
    exported.some(found => found.name === name && found.kind === kind)
  if (!has('_start', 'function')) throw new Error('is no command: it exports no function _start')
  if (!has('memory', 'memory')) throw new Error('is no command: it exports no memory')
  return bytes
}

function inspectComponent (component: Component): Inspected {
  const { imports, exports } = component
  const isEngine = engineExports.every(name => exports.includes(name))
  refuseImports(imports.filter(name => !isKnownInterface(name) && !(isEngine && engineImports.has(name))))
  if (isEngine) return { kind: 'component', component, world: 'skill-engine' }
  if (exports.some(name => name.startsWith('wasi:cli/run@0.2.'))) {
    return { kind: 'component', component, world: 'command' }
  }
  const named = exports.length === 0 ? 'nothing' : some(exports)
  throw new Error(`is a component of another world: it exports ${named}, and neither wasi:cli/run of WASI 0.2 nor the functions of the Skill Engine`)
}

function refuseImports (names: readonly string[]): void {
  if (names.length > 0) throw new Error(`imports what there is not: ${some(names)}`)
}

function some (names: readonly string[]): string {
  const [shown, more] = [names.slice(0, namedMax).join(', '), names.length - namedMax]
  return more > 0 ? `${shown} and ${more} more` : shown
}
