import type { RunState } from '../run-state.ts'
import { WasiError } from '../wasi-error.ts'
import type { Descriptor } from './descriptors.ts'

/**
 * Fills buffers, one after another.
 * @param at where in a file, in bytes; undefined: at its position, which moves
 * @returns how many bytes were read
 */
export function read (
  state: RunState, found: Descriptor, buffers: readonly Uint8Array[], at?: number
): number {
  let total = 0
  for (const buffer of buffers) {
    const bytes = readInto(state, found, buffer, (at ?? positionOf(found)) + total)
    total += bytes
    if (bytes < buffer.length) break
  }
  if (at === undefined && found.kind === 'file') found.position += total
  return total
}

function readInto (state: RunState, found: Descriptor, buffer: Uint8Array, at: number): number {
  if (found.kind === 'file') return found.file.read(buffer, at)
  if (found.kind !== 'stdin') throw new WasiError(found.kind === 'folder' ? 'is-directory' : 'bad-descriptor')
  const input = state.readInput(buffer.length)
  buffer.set(input)
  return input.length
}

/**
 * Writes buffers, one after another.
 * @param at where in a file, in bytes; undefined: at its position or its end, and the position moves
 * @returns how many bytes were written
 */
export function write (
  state: RunState, found: Descriptor, buffers: readonly Uint8Array[], at?: number
): number {
  if (found.kind === 'file' && found.append && at === undefined) found.position = Number(found.file.stat().size)
  let total = 0
  for (const buffer of buffers) {
    if (found.kind === 'file') total += found.file.write(buffer, (at ?? found.position) + total)
    else if (found.kind === 'stdout') state.writeOutput(buffer)
    else if (found.kind === 'stderr') state.writeError(buffer)
    else throw new WasiError(found.kind === 'folder' ? 'is-directory' : 'bad-descriptor')
    if (found.kind !== 'file') total += buffer.length
  }
  if (at === undefined && found.kind === 'file') found.position += total
  return total
}

function positionOf (found: Descriptor): number {
  return found.kind === 'file' ? found.position : 0
}
