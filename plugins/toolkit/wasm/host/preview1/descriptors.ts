import { OpenFolder, type OpenFile } from '../files.ts'
import type { RunState } from '../run-state.ts'
import { WasiError } from '../wasi-error.ts'

/** What a descriptor of a program stands for. */
export type Descriptor =
  | { kind: 'stdin' | 'stdout' | 'stderr' }
  | { kind: 'folder', folder: OpenFolder, preopen?: string }
  | { kind: 'file', file: OpenFile, position: number, append: boolean, flags: number }

type OfKind<Kind extends Descriptor['kind']> = Extract<Descriptor, { kind: Kind }>

/** The descriptors of a program, by their numbers. */
export class Descriptors {
  readonly #state: RunState
  readonly #all = new Map<number, Descriptor>()

  constructor (state: RunState) {
    this.#state = state
    for (const kind of ['stdin', 'stdout', 'stderr'] as const) this.#all.set(this.#all.size, { kind })
    for (const { guest, folder } of state.files.preopens) {
      this.#all.set(this.#all.size, { kind: 'folder', folder, preopen: guest })
    }
  }

  /** @throws WasiError */
  of (number: number): Descriptor {
    const found = this.#all.get(number)
    if (found === undefined) throw new WasiError('bad-descriptor')
    return found
  }

  file (number: number): OfKind<'file'> {
    const found = this.of(number)
    if (found.kind === 'file') return found
    throw new WasiError(found.kind === 'folder' ? 'is-directory' : 'invalid-seek')
  }

  folder (number: number): OpenFolder {
    const found = this.of(number)
    if (found.kind !== 'folder') throw new WasiError('not-directory')
    return found.folder
  }

  /** @returns its number: the lowest that is free */
  add (opened: OpenFile | OpenFolder, append: boolean, flags: number): number {
    let number = 0
    while (this.#all.has(number)) number++
    if (number >= 4_096) throw new WasiError('quota')
    this.#all.set(number, opened instanceof OpenFolder
      ? { kind: 'folder', folder: opened }
      : { kind: 'file', file: opened, position: 0, append, flags })
    return number
  }

  close (number: number): void {
    const found = this.of(number)
    this.#all.delete(number)
    if (found.kind === 'file') this.#state.files.close(found.file)
  }

  renumber (from: number, to: number): void {
    const found = this.of(from)
    this.of(to)
    if (from === to) return
    this.close(to)
    this.#all.delete(from)
    this.#all.set(to, found)
  }
}
