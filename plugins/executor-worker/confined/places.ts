import type { Confinement, Task } from '../../../kernel/index.ts'
import { writablePaths } from '../../toolkit/sandbox/writable-paths.ts'
import { Place, type PlaceOptions } from './place.ts'

/** Places that are kept although nothing may be there. */
const placesMax = 256

/** The places of runs, by what their processes have in common. */
export class Places {
  readonly #options: PlaceOptions
  readonly #isUsed: (place: Place) => boolean
  readonly #places = new Map<string, Place>()

  /** @param isUsed whether a place has processes */
  constructor (options: PlaceOptions, isUsed: (place: Place) => boolean) {
    this.#options = options
    this.#isUsed = isUsed
  }

  /**
   * The place of a run.
   * @throws ConfinementError when it may not write to a path that its parameters name, or what its skill lists as the
   * network can't be read
   */
  of (task: Task, module: string, level: Confinement): Place {
    const { key, writable } = this.#keyOf(task, module, level)
    let place = this.#places.get(key)
    if (place === undefined) {
      if (this.#places.size >= placesMax) this.#forget()
      this.#places.set(key, place = new Place({ key, writable, level }, task, module, this.#options))
    } else place.refresh()
    return place
  }

  /** Keeps a place that may have been forgotten: a run has come back to it. */
  keep (place: Place): void {
    this.#places.set(place.key, place)
  }

  /** Those with runs that wait, first come, first. */
  waiting (): Place[] {
    const number = ({ queue }: Place): number => queue.first?.number ?? 0
    return [...this.#places.values()].filter(({ queue }) => queue.size > 0).toSorted((a, b) => number(a) - number(b))
  }

  #keyOf (task: Task, module: string, level: Confinement): { key: string, writable: string[] } {
    const { book, cwd } = this.#options
    const { directory, revision, permissions } = task.skill
    const writable = permissions.write.length === 0 ? [] : writablePaths(book, task, cwd)
    return { key: JSON.stringify([directory, module, revision, level, permissions, writable]), writable }
  }

  #forget (): void {
    for (const [key, place] of this.#places) {
      if (place.queue.size === 0 && !this.#isUsed(place)) this.#places.delete(key)
    }
  }
}
