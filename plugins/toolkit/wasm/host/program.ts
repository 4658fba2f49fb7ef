import { boundMemories } from './bound-memory.ts'
import { preview1 } from './preview1/preview1.ts'
import { preview2 } from './preview2/preview2.ts'
import type { RunState } from './run-state.ts'
import { Exit } from './wasi-error.ts'
import { Instance, Memory, Module, type WasmModule } from './web-assembly.ts'

/** What a transpiled component exports: it makes an instance. */
export type Instantiate = (
  coreOf: (name: string) => WasmModule, imports: Record<string, object>
) => Record<string, unknown>

/** A program in WebAssembly, as it is built into a module. */
export type Program =
  | { kind: 'core', core: Uint8Array }
  | { kind: 'component', cores: Readonly<Record<string, Uint8Array>>, instantiate: Instantiate }

/** The compiled modules of programs, by the limit of their memory. */
const compiled = new WeakMap<Program, { bytesMax: number, modules: ReadonlyMap<string, WasmModule> }>()

/** @throws Error when it can't be compiled, or begins with more memory than it may have */
function modulesOf (program: Program, bytesMax: number): ReadonlyMap<string, WasmModule> {
  const cached = compiled.get(program)
  if (cached?.bytesMax === bytesMax) return cached.modules
  const cores = program.kind === 'core' ? { '': program.core } : program.cores
  const bounded = boundMemories(Object.values(cores), bytesMax)
  const modules = new Map(Object.keys(cores).map((name, i) =>
    [name, new Module(Uint8Array.from(bounded[i] ?? []))]))
  compiled.set(program, { bytesMax, modules })
  return modules
}

function moduleOf (modules: ReadonlyMap<string, WasmModule>, name: string): WasmModule {
  const module = modules.get(name)
  if (module === undefined) throw new Error(`the component has no module ${name}`)
  return module
}

/**
 * Makes an instance of a component.
 * @param memory_bytes_max what its memories may take together
 * @param more functions beside those of WASI that it may import
 */
export function instantiate (
  program: Program & { kind: 'component' }, state: RunState, memory_bytes_max: number,
  more: Readonly<Record<string, unknown>> = {}
): Record<string, unknown> {
  const modules = modulesOf(program, memory_bytes_max)
  const imports = preview2(state)
  return program.instantiate(name => moduleOf(modules, name), Object.assign(imports, more))
}

/**
 * Runs a command to its end, once.
 * @returns its exit code
 * @throws whatever ends it otherwise: a trap, or what `RunState` stops it by
 */
export function runCommand (program: Program, state: RunState, memory_bytes_max: number): number {
  try {
    if (program.kind === 'core') runCore(program, state, memory_bytes_max)
    else runComponent(instantiate(program, state, memory_bytes_max))
    return 0
  } catch (error) {
    if (error instanceof Exit) return error.code
    if (isFailedRun(error)) return 1
    throw error
  } finally {
    state.files.closeAll()
  }
}

function runCore (program: Program, state: RunState, memory_bytes_max: number): void {
  const { imports, memory } = preview1(state)
  const module = moduleOf(modulesOf(program, memory_bytes_max), '')
  const { exports } = new Instance(module, { wasi_snapshot_preview1: imports })
  if (exports['memory'] instanceof Memory) memory.attach(exports['memory'])
  const start = exports['_start']
  if (typeof start !== 'function') throw new Error('it exports no function _start')
  Reflect.apply(start, undefined, [])
}

function runComponent (exports: Record<string, unknown>): void {
  const named = Object.entries(exports).find(([name]) => name.startsWith('wasi:cli/run@'))?.[1]
  const run: unknown = typeof named === 'object' && named !== null ? Reflect.get(named, 'run') : undefined
  if (typeof run !== 'function') throw new Error('it exports no wasi:cli/run')
  Reflect.apply(run, undefined, [])
}

/** Whether `run` of a component returned the error that its type has, which holds no value. */
function isFailedRun (error: unknown): boolean {
  return error instanceof Error && error.constructor.name === 'ComponentError'
}
