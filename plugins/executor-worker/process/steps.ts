import type { Claims } from '../shared/board.ts'
import type { FromProcess } from '../shared/process-protocol.ts'

/** How far the runs of a batch have come, in this process: each that begins is told first. */
export class Steps implements Claims {
  readonly #send: (message: FromProcess) => void
  readonly #recalled = new Set<number>()
  /** The number of the first run; undefined while there is no batch. */
  #first: number | undefined
  #count = 0
  /** Slots before this one have begun. */
  #begun = 0

  constructor (send: (message: FromProcess) => void) {
    this.#send = send
  }

  open (first: number, count: number): void {
    this.#first = first
    this.#count = count
    this.#begun = 0
    this.#recalled.clear()
  }

  /** No run of the batch begins any more. */
  close (): void {
    this.#first = undefined
  }

  /** @returns whether the run belongs to the batch and had not begun; then it never will */
  recall (run: number): boolean {
    const slot = run - (this.#first ?? run + 1)
    if (slot < this.#begun || slot >= this.#count) return false
    this.#recalled.add(slot)
    this.#send({ type: 'recalled', run })
    return true
  }

  begin (slot: number): boolean {
    if (this.#first === undefined) return true // a run alone, whose start is told by who begins it
    this.#begun = slot + 1
    if (this.#recalled.has(slot)) return false
    this.#send({ type: 'started', run: this.#first + slot })
    return true
  }

  /** Nobody else could take a run meanwhile. */
  move (): boolean {
    return true
  }

  /** There is no board: each result is a message. */
  put (): boolean {
    return false
  }

  clear (): void {}
  tell (): void {}
}
