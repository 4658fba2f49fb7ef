import type { SkillDefinition, Task } from '../../../kernel/index.ts'
import { ConfinementError } from '../../toolkit/sandbox/confinement-policy.ts'
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
   * @throws ConfinementError when it may not write to a path that its parameters name, or its skill lists what it may
   * reach, which is enforced for commands only
   */
  of (task: Task, module: string): Place {
    refuseList(task.skill)
    const { key, writable } = this.#keyOf(task, module)
    let place = this.#places.get(key)
    if (place === undefined) {
      if (this.#places.size >= placesMax) this.#forget()
      this.#places.set(key, place = new Place(key, task, module, writable, this.#options))
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

  #keyOf (task: Task, module: string): { key: string, writable: string[] } {
    const { book, cwd } = this.#options
    const { directory, revision, permissions: { network, read, env, write } } = task.skill
    const writable = write.length === 0 ? [] : writablePaths(book, task, cwd)
    return { key: JSON.stringify([directory, module, revision, network, read, env, writable]), writable }
  }

  #forget (): void {
    for (const [key, place] of this.#places) {
      if (place.queue.size === 0 && !this.#isUsed(place)) this.#places.delete(key)
    }
  }
}

/** Runs no script with less, or more, of the network than its skill lists. */
function refuseList ({ name, permissions: { network } }: SkillDefinition): void {
  if (typeof network === 'boolean') return
  throw new ConfinementError(
    `${name} lists what it may reach in permissions.network, which is enforced for commands only: trust the skill, or say true or false there`
  )
}
