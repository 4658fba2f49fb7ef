import { RunState } from '../run-state.ts'
import { errorNumbers, WasiError } from '../wasi-error.ts'
import { descriptorCalls } from './descriptor-calls.ts'
import { Descriptors } from './descriptors.ts'
import { GuestMemory } from './guest-memory.ts'
import { pathCalls } from './path-calls.ts'
import { processCalls } from './process-calls.ts'

type Imports = Record<string, (...given: never[]) => number>

/** The functions of WASI preview 1 for one run of a program. */
export function preview1 (state: RunState): { imports: Imports, memory: GuestMemory } {
  const memory = new GuestMemory()
  const open = new Descriptors(state)
  const calls: Record<string, (...given: never[]) => void> = {
    ...descriptorCalls(state, memory, open), ...pathCalls(state, memory, open), ...processCalls(state, memory, open)
  }
  const imports: Imports = {}
  for (const [name, call] of Object.entries(calls)) {
    imports[name] = (...given: never[]): number => {
      try {
        call(...given)
        return 0
      } catch (error) {
        if (error instanceof WasiError) return errorNumbers[error.payload]
        throw error
      }
    }
  }
  return { imports, memory }
}

/** The names of the functions. */
export function preview1Names (): Set<string> {
  const state = new RunState('', { args: [], env: {}, stdin: '', preopens: [], output_bytes_max: 0 })
  return new Set(Object.keys(preview1(state).imports))
}
